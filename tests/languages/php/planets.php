<?php
// The solar system, a spectral norm, and primes found by fibers.
declare(strict_types=1);

const SOLAR_MASS = 4 * M_PI ** 2;
const DAYS = 365.24;
const WORKERS = 4;
const LIMIT = 20000;

final class Body
{
    public array $velocity;
    public float $mass;

    public function __construct(public array $position, array $velocity, float $mass)
    {
        $this->velocity = array_map(fn ($part) => $part * DAYS, $velocity);
        $this->mass = $mass * SOLAR_MASS;
    }

    public function awayFrom(Body $other): array
    {
        return array_map(fn ($a, $b) => $a - $b, $this->position, $other->position);
    }

    public function move(float $step): void
    {
        foreach ($this->velocity as $axis => $part) {
            $this->position[$axis] += $step * $part;
        }
    }
}

function dot(array $a, array $b): float
{
    return array_sum(array_map(fn ($x, $y) => $x * $y, $a, $b));
}

function solarSystem(): array
{
    return [
        new Body([0, 0, 0], [0, 0, 0], 1),
        new Body(
            [4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
            [0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023],
            0.000954791938424326609,
        ),
        new Body(
            [8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
            [-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929],
            0.000285885980666130812,
        ),
        new Body(
            [12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
            [0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556],
            0.0000436624404335156298,
        ),
        new Body(
            [15.3796971148509165, -25.9193146099879641, 0.179258772950371181],
            [0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870],
            0.0000515138902046611451,
        ),
    ];
}

function offsetMomentum(array $bodies): void
{
    for ($axis = 0; $axis < 3; $axis++) {
        $momentum = array_sum(array_map(fn ($body) => $body->velocity[$axis] * $body->mass, $bodies));
        $bodies[0]->velocity[$axis] = -$momentum / SOLAR_MASS;
    }
}

function pairs(array $bodies): Generator
{
    foreach ($bodies as $i => $first) {
        foreach (array_slice($bodies, $i + 1) as $second) {
            yield [$first, $second];
        }
    }
}

function energy(array $bodies): float
{
    $total = array_sum(array_map(fn ($body) => 0.5 * $body->mass * dot($body->velocity, $body->velocity), $bodies));
    foreach (pairs($bodies) as [$first, $second]) {
        $away = $first->awayFrom($second);
        $total -= $first->mass * $second->mass / sqrt(dot($away, $away));
    }
    return $total;
}

function advance(array $bodies, float $step): void
{
    foreach (pairs($bodies) as [$first, $second]) {
        $away = $first->awayFrom($second);
        $magnitude = $step / dot($away, $away) ** 1.5;
        foreach ($away as $axis => $part) {
            $first->velocity[$axis] -= $part * $second->mass * $magnitude;
            $second->velocity[$axis] += $part * $first->mass * $magnitude;
        }
    }
    foreach ($bodies as $body) {
        $body->move($step);
    }
}

function element(int $i, int $j): float
{
    return 1 / (intdiv(($i + $j) * ($i + $j + 1), 2) + $i + 1);
}

function multiply(array $in, bool $turned): array
{
    $out = [];
    foreach ($in as $i => $_) {
        $out[$i] = 0;
        foreach ($in as $j => $part) {
            $out[$i] += $part * ($turned ? element($j, $i) : element($i, $j));
        }
    }
    return $out;
}

function spectralNorm(int $size): float
{
    $u = array_fill(0, $size, 1.0);
    for ($i = 0; $i < 10; $i++) {
        $v = multiply(multiply($u, false), true);
        $u = multiply(multiply($v, false), true);
    }
    return sqrt(dot($u, $v) / dot($v, $v));
}

function isPrime(int $number): bool
{
    for ($divisor = 2; $divisor * $divisor <= $number; $divisor++) {
        if ($number % $divisor === 0) {
            return false;
        }
    }
    return $number > 1;
}

/** Workers take turns: each gives way after a hundred numbers. */
function countPrimes(): int
{
    $found = 0;
    $fibers = [];
    for ($worker = 0; $worker < WORKERS; $worker++) {
        $fibers[] = new Fiber(function () use ($worker, &$found): void {
            for ($number = $worker; $number < LIMIT; $number += WORKERS) {
                $found += (int) isPrime($number);
                if ($number % 100 === 0) {
                    Fiber::suspend();
                }
            }
        });
    }
    array_walk($fibers, fn (Fiber $fiber) => $fiber->start());
    while ($fibers = array_filter($fibers, fn (Fiber $fiber) => !$fiber->isTerminated())) {
        array_walk($fibers, fn (Fiber $fiber) => $fiber->resume());
    }
    return $found;
}

$bodies = solarSystem();
offsetMomentum($bodies);
printf("%.9f\n", energy($bodies));
for ($i = 0; $i < 1000; $i++) {
    advance($bodies, 0.01);
}
printf("%.9f\n%.9f\n%d\n", energy($bodies), spectralNorm(100), countPrimes());
