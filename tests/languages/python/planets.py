"""The solar system, a spectral norm, and primes found by several processes and threads."""
import asyncio
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

SOLAR_MASS = 4 * math.pi ** 2
DAYS = 365.24
WORKERS = 4
LIMIT = 20000


class Body:
    def __init__(self, position, velocity, mass):
        self.position = list(position)
        self.velocity = [part * DAYS for part in velocity]
        self.mass = mass * SOLAR_MASS


def solar_system():
    return [
        Body((0, 0, 0), (0, 0, 0), 1),
        Body((4.84143144246472090, -1.16032004402742839, -0.103622044471123109),
             (0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023),
             0.000954791938424326609),
        Body((8.34336671824457987, 4.12479856412430479, -0.403523417114321381),
             (-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929),
             0.000285885980666130812),
        Body((12.8943695621391310, -15.1111514016986312, -0.223307578892655734),
             (0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556),
             0.0000436624404335156298),
        Body((15.3796971148509165, -25.9193146099879641, 0.179258772950371181),
             (0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870),
             0.0000515138902046611451),
    ]


def offset_momentum(bodies):
    sun = bodies[0]
    for axis in range(3):
        momentum = sum(body.velocity[axis] * body.mass for body in bodies)
        sun.velocity[axis] = -momentum / SOLAR_MASS


def pairs(bodies):
    for i, first in enumerate(bodies):
        for second in bodies[i + 1:]:
            yield first, second


def distance(first, second):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first.position, second.position)))


def energy(bodies):
    kinetic = sum(0.5 * body.mass * sum(v * v for v in body.velocity) for body in bodies)
    return kinetic - sum(a.mass * b.mass / distance(a, b) for a, b in pairs(bodies))


def advance(bodies, step):
    for first, second in pairs(bodies):
        away = [a - b for a, b in zip(first.position, second.position)]
        magnitude = step / sum(part * part for part in away) ** 1.5
        for axis, part in enumerate(away):
            first.velocity[axis] -= part * second.mass * magnitude
            second.velocity[axis] += part * first.mass * magnitude
    for body in bodies:
        for axis in range(3):
            body.position[axis] += step * body.velocity[axis]


def element(i, j):
    return 1 / ((i + j) * (i + j + 1) // 2 + i + 1)


def multiply(vector, turned):
    indices = range(len(vector))
    if turned:
        return [sum(element(j, i) * vector[j] for j in indices) for i in indices]
    return [sum(element(i, j) * vector[j] for j in indices) for i in indices]


def spectral_norm(size):
    u = [1.0] * size
    for _ in range(10):
        v = multiply(multiply(u, False), True)
        u = multiply(multiply(v, False), True)
    return math.sqrt(sum(a * b for a, b in zip(u, v)) / sum(b * b for b in v))


def is_prime(number):
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def count_primes(worker):
    return sum(map(is_prime, range(worker, LIMIT, WORKERS)))


async def count_gently():
    async def one(worker):
        await asyncio.sleep(0)
        return count_primes(worker)
    return sum(await asyncio.gather(*map(one, range(WORKERS))))


if __name__ == "__main__":
    bodies = solar_system()
    offset_momentum(bodies)
    print(f"{energy(bodies):.9f}")
    for _ in range(1000):
        advance(bodies, 0.01)
    print(f"{energy(bodies):.9f}")
    print(f"{spectral_norm(100):.9f}")
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(WORKERS) as threads:
        by_processes = sum(processes.map(count_primes, range(WORKERS)))
        by_threads = sum(threads.map(count_primes, range(WORKERS)))
    assert by_processes == by_threads == asyncio.run(count_gently())
    print(by_processes)
