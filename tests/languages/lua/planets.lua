-- The solar system, a spectral norm, and primes found by coroutines.
local SOLAR_MASS = 4 * math.pi ^ 2
local DAYS = 365.24
local WORKERS = 4
local LIMIT = 20000

local Body = {}
Body.__index = Body

function Body.new(position, velocity, mass)
  for axis = 1, 3 do velocity[axis] = velocity[axis] * DAYS end
  return setmetatable({ position = position, velocity = velocity, mass = mass * SOLAR_MASS }, Body)
end

function Body:away_from(other)
  local away = {}
  for axis = 1, 3 do away[axis] = self.position[axis] - other.position[axis] end
  return away
end

local function dot(a, b)
  local sum = 0
  for i = 1, #a do sum = sum + a[i] * b[i] end
  return sum
end

local function solar_system()
  return {
    Body.new({ 0, 0, 0 }, { 0, 0, 0 }, 1),
    Body.new(
      { 4.84143144246472090, -1.16032004402742839, -0.103622044471123109 },
      { 0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023 },
      0.000954791938424326609
    ),
    Body.new(
      { 8.34336671824457987, 4.12479856412430479, -0.403523417114321381 },
      { -0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929 },
      0.000285885980666130812
    ),
    Body.new(
      { 12.8943695621391310, -15.1111514016986312, -0.223307578892655734 },
      { 0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556 },
      0.0000436624404335156298
    ),
    Body.new(
      { 15.3796971148509165, -25.9193146099879641, 0.179258772950371181 },
      { 0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870 },
      0.0000515138902046611451
    ),
  }
end

local function offset_momentum(bodies)
  for axis = 1, 3 do
    local momentum = 0
    for _, body in ipairs(bodies) do momentum = momentum + body.velocity[axis] * body.mass end
    bodies[1].velocity[axis] = -momentum / SOLAR_MASS
  end
end

-- Each pair of bodies once.
local function pairs_of(bodies)
  return coroutine.wrap(function()
    for i = 1, #bodies do
      for j = i + 1, #bodies do coroutine.yield(bodies[i], bodies[j]) end
    end
  end)
end

local function energy(bodies)
  local total = 0
  for _, body in ipairs(bodies) do total = total + 0.5 * body.mass * dot(body.velocity, body.velocity) end
  for first, second in pairs_of(bodies) do
    local away = first:away_from(second)
    total = total - first.mass * second.mass / math.sqrt(dot(away, away))
  end
  return total
end

local function advance(bodies, step)
  for first, second in pairs_of(bodies) do
    local away = first:away_from(second)
    local magnitude = step / dot(away, away) ^ 1.5
    for axis = 1, 3 do
      first.velocity[axis] = first.velocity[axis] - away[axis] * second.mass * magnitude
      second.velocity[axis] = second.velocity[axis] + away[axis] * first.mass * magnitude
    end
  end
  for _, body in ipairs(bodies) do
    for axis = 1, 3 do body.position[axis] = body.position[axis] + step * body.velocity[axis] end
  end
end

local function element(i, j)
  return 1 / ((i + j) * (i + j + 1) // 2 + i + 1)
end

local function multiply(vector)
  local between, out, size = {}, {}, #vector
  for i = 1, size do
    between[i] = 0
    for j = 1, size do between[i] = between[i] + element(i - 1, j - 1) * vector[j] end
  end
  for i = 1, size do
    out[i] = 0
    for j = 1, size do out[i] = out[i] + element(j - 1, i - 1) * between[j] end
  end
  return out
end

local function spectral_norm(size)
  local u, v = {}, nil
  for i = 1, size do u[i] = 1 end
  for _ = 1, 10 do
    v = multiply(u)
    u = multiply(v)
  end
  return math.sqrt(dot(u, v) / dot(v, v))
end

local function is_prime(number)
  for divisor = 2, math.floor(math.sqrt(number)) do
    if number % divisor == 0 then return false end
  end
  return number > 1
end

-- Workers take turns: each gives way after every number it has looked at.
local function count_primes()
  local workers, count = {}, 0
  for worker = 0, WORKERS - 1 do
    workers[#workers + 1] = coroutine.create(function()
      for number = worker, LIMIT - 1, WORKERS do coroutine.yield(is_prime(number)) end
    end)
  end
  while #workers > 0 do
    for i = #workers, 1, -1 do
      local ok, found = coroutine.resume(workers[i])
      assert(ok, found)
      if found then count = count + 1 end
      if coroutine.status(workers[i]) == "dead" then table.remove(workers, i) end
    end
  end
  return count
end

local bodies = solar_system()
offset_momentum(bodies)
print(("%.9f"):format(energy(bodies)))
for _ = 1, 1000 do advance(bodies, 0.01) end
print(("%.9f\n%.9f"):format(energy(bodies), spectral_norm(100)))
print(count_primes())
