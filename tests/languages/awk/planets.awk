# The solar system, a spectral norm, and primes found by processes that awk starts.

function add_body(px, py, pz, vx, vy, vz, weight)
{
        bodies++
        position[bodies, 1] = px
        position[bodies, 2] = py
        position[bodies, 3] = pz
        velocity[bodies, 1] = vx * days
        velocity[bodies, 2] = vy * days
        velocity[bodies, 3] = vz * days
        mass[bodies] = weight * solar_mass
}

function set_up()
{
        pi = atan2(0, -1)
        solar_mass = 4 * pi * pi
        days = 365.24
        add_body(0, 0, 0, 0, 0, 0, 1)
        add_body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
                0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023,
                0.000954791938424326609)
        add_body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
                -0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929,
                0.000285885980666130812)
        add_body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
                0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556,
                0.0000436624404335156298)
        add_body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
                0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870,
                0.0000515138902046611451)
}

function offset_momentum(    axis, i, momentum)
{
        for (axis = 1; axis <= 3; axis++) {
                momentum = 0
                for (i = 1; i <= bodies; i++)
                        momentum += velocity[i, axis] * mass[i]
                velocity[1, axis] = -momentum / solar_mass
        }
}

# The square of the distance; the parts are left in `away`.
function look(i, j,    axis, sum)
{
        for (axis = 1; axis <= 3; axis++) {
                away[axis] = position[i, axis] - position[j, axis]
                sum += away[axis] * away[axis]
        }
        return sum
}

function energy(    i, j, axis, total)
{
        for (i = 1; i <= bodies; i++) {
                for (axis = 1; axis <= 3; axis++)
                        total += 0.5 * mass[i] * velocity[i, axis] * velocity[i, axis]
                for (j = i + 1; j <= bodies; j++)
                        total -= mass[i] * mass[j] / sqrt(look(i, j))
        }
        return total
}

function advance(step,    i, j, axis, magnitude)
{
        for (i = 1; i <= bodies; i++)
                for (j = i + 1; j <= bodies; j++) {
                        magnitude = step / look(i, j) ^ 1.5
                        for (axis = 1; axis <= 3; axis++) {
                                velocity[i, axis] -= away[axis] * mass[j] * magnitude
                                velocity[j, axis] += away[axis] * mass[i] * magnitude
                        }
                }
        for (i = 1; i <= bodies; i++)
                for (axis = 1; axis <= 3; axis++)
                        position[i, axis] += step * velocity[i, axis]
}

function element(i, j)
{
        return 1 / ((i + j) * (i + j + 1) / 2 + i + 1)
}

function multiply(from, to, size,    i, j, between)
{
        for (i = 0; i < size; i++)
                for (j = 0; j < size; j++)
                        between[i] += element(i, j) * from[j]
        for (i = 0; i < size; i++) {
                to[i] = 0
                for (j = 0; j < size; j++)
                        to[i] += element(j, i) * between[j]
        }
}

function spectral_norm(size,    i, u, v, uv, vv)
{
        for (i = 0; i < size; i++)
                u[i] = 1
        for (i = 0; i < 10; i++) {
                multiply(u, v, size)
                multiply(v, u, size)
        }
        for (i = 0; i < size; i++) {
                uv += u[i] * v[i]
                vv += v[i] * v[i]
        }
        return sqrt(uv / vv)
}

# Four more of us run at once: their commands are opened before any of them is read.
function count_primes(    worker, commands, line, total, code)
{
        code = "function prime(n,  d) { for (d = 2; d * d <= n; d++) if (n % d == 0) return 0; return n > 1 }" \
                " BEGIN { for (n = w; n < 20000; n += 4) found += prime(n); print found + 0 }"
        for (worker = 0; worker < 4; worker++) {
                commands[worker] = "awk -v w=" worker " '" code "' >part" worker " &"
                system(commands[worker])
        }
        for (worker = 0; worker < 4; worker++) {
                while ((getline line < ("part" worker)) <= 0) {
                        close("part" worker)
                        system("sleep 0.01")
                }
                total += line
        }
        return total
}

BEGIN {
        set_up()
        offset_momentum()
        printf "%.9f\n", energy()
        for (n = 0; n < 1000; n++)
                advance(0.01)
        printf "%.9f\n%.9f\n%d\n", energy(), spectral_norm(100), count_primes()
}
