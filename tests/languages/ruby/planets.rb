# The solar system, a spectral norm, and primes found by threads and processes.
SOLAR_MASS = 4 * Math::PI**2
DAYS = 365.24
WORKERS = 4
LIMIT = 20_000

# A body in space.
class Body
  attr_reader :position, :velocity, :mass

  def initialize(position, velocity, mass)
    @position = position
    @velocity = velocity.map { |part| part * DAYS }
    @mass = mass * SOLAR_MASS
  end

  def away_from(other)
    position.zip(other.position).map { |a, b| a - b }
  end

  def kinetic
    0.5 * mass * dot(velocity, velocity)
  end

  def move(step)
    3.times { |axis| position[axis] += step * velocity[axis] }
  end
end

def dot(one, other)
  sum = 0.0
  one.each_with_index { |part, i| sum += part * other[i] }
  sum
end

def solar_system
  [
    Body.new([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 1.0),
    Body.new(
      [4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
      [0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023],
      0.000954791938424326609
    ),
    Body.new(
      [8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
      [-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929],
      0.000285885980666130812
    ),
    Body.new(
      [12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
      [0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556],
      0.0000436624404335156298
    ),
    Body.new(
      [15.3796971148509165, -25.9193146099879641, 0.179258772950371181],
      [0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870],
      0.0000515138902046611451
    )
  ]
end

def offset_momentum(bodies)
  3.times do |axis|
    momentum = bodies.sum { |body| body.velocity[axis] * body.mass }
    bodies.first.velocity[axis] = -momentum / SOLAR_MASS
  end
end

def energy(bodies)
  bodies.sum(&:kinetic) - bodies.combination(2).sum do |first, second|
    away = first.away_from(second)
    first.mass * second.mass / Math.sqrt(dot(away, away))
  end
end

def advance(bodies, step)
  bodies.combination(2) do |first, second|
    away = first.away_from(second)
    magnitude = step / dot(away, away)**1.5
    away.each_with_index do |part, axis|
      first.velocity[axis] -= part * second.mass * magnitude
      second.velocity[axis] += part * first.mass * magnitude
    end
  end
  bodies.each { |body| body.move(step) }
end

def element(row, column)
  1.0 / ((row + column) * (row + column + 1) / 2 + row + 1)
end

def multiply(vector)
  indices = vector.each_index.to_a
  between = indices.map { |i| indices.sum { |j| element(i, j) * vector[j] } }
  indices.map { |i| indices.sum { |j| element(j, i) * between[j] } }
end

def spectral_norm(size)
  u = Array.new(size, 1.0)
  v = nil
  10.times do
    v = multiply(u)
    u = multiply(v)
  end
  Math.sqrt(dot(u, v) / dot(v, v))
end

def prime?(number)
  number > 1 && (2..Integer.sqrt(number)).none? { |divisor| (number % divisor).zero? }
end

def count_primes(worker)
  worker.step(LIMIT - 1, WORKERS).count { |number| prime?(number) }
end

def count_by_threads
  results = Queue.new
  Array.new(WORKERS) { |worker| Thread.new { results << count_primes(worker) } }.each(&:join)
  Array.new(WORKERS) { results.pop }.sum
end

def count_by_processes
  pipes = Array.new(WORKERS) do |worker|
    reader, writer = IO.pipe
    fork do
      reader.close
      writer.puts count_primes(worker)
      exit!(0)
    end
    writer.close
    reader
  end
  total = pipes.sum { |reader| reader.read.to_i }
  Process.waitall
  total
end

bodies = solar_system
offset_momentum(bodies)
puts format("%.9f", energy(bodies))
1000.times { advance(bodies, 0.01) }
puts format("%.9f", energy(bodies))
puts format("%.9f", spectral_norm(100))
primes = count_by_threads
abort "processes count differently" unless primes == count_by_processes
puts primes
