// The solar system, a spectral norm, and primes found by worker threads.
import { Worker, isMainThread, parentPort, workerData } from 'worker_threads';
import { fileURLToPath } from 'url';

type Vector = number[];

const SOLAR_MASS = 4 * Math.PI ** 2;
const DAYS = 365.24;
const WORKERS = 4;
const LIMIT = 20000;

class Body {
  readonly position: Vector;
  readonly velocity: Vector;
  readonly mass: number;

  constructor(position: Vector, velocity: Vector, mass: number) {
    this.position = position;
    this.velocity = velocity.map((part) => part * DAYS);
    this.mass = mass * SOLAR_MASS;
  }
}

const solarSystem = (): Body[] => [
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

const sum = (numbers: Vector): number => numbers.reduce((a, b) => a + b, 0);
const dot = (a: Vector, b: Vector): number => sum(a.map((part, i) => part * b[i]));

function offsetMomentum(bodies: Body[]): void {
  for (let axis = 0; axis < 3; axis++) {
    bodies[0].velocity[axis] = -sum(bodies.map((body) => body.velocity[axis] * body.mass)) / SOLAR_MASS;
  }
}

function* pairs(bodies: Body[]): Generator<[Body, Body]> {
  for (let i = 0; i < bodies.length; i++) {
    for (let j = i + 1; j < bodies.length; j++) yield [bodies[i], bodies[j]];
  }
}

const away = (first: Body, second: Body): Vector => first.position.map((part, axis) => part - second.position[axis]);

function energy(bodies: Body[]): number {
  let total = sum(bodies.map((body) => 0.5 * body.mass * dot(body.velocity, body.velocity)));
  for (const [first, second] of pairs(bodies)) {
    const between = away(first, second);
    total -= (first.mass * second.mass) / Math.sqrt(dot(between, between));
  }
  return total;
}

function advance(bodies: Body[], step: number): void {
  for (const [first, second] of pairs(bodies)) {
    const between = away(first, second);
    const magnitude = step / dot(between, between) ** 1.5;
    between.forEach((part, axis) => {
      first.velocity[axis] -= part * second.mass * magnitude;
      second.velocity[axis] += part * first.mass * magnitude;
    });
  }
  for (const body of bodies) {
    body.velocity.forEach((part, axis) => { body.position[axis] += step * part; });
  }
}

const element = (i: number, j: number): number => 1 / (((i + j) * (i + j + 1)) / 2 + i + 1);

function multiply(vector: Vector, turned: boolean): Vector {
  return vector.map((_, i) => sum(vector.map((part, j) => part * (turned ? element(j, i) : element(i, j)))));
}

function spectralNorm(size: number): number {
  let u: Vector = new Array<number>(size).fill(1);
  let v = u;
  for (let i = 0; i < 10; i++) {
    v = multiply(multiply(u, false), true);
    u = multiply(multiply(v, false), true);
  }
  return Math.sqrt(dot(u, v) / dot(v, v));
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) {
    if (number % divisor === 0) return false;
  }
  return number > 1;
}

function countPrimes(worker: number): number {
  let count = 0;
  for (let number = worker; number < LIMIT; number += WORKERS) count += Number(isPrime(number));
  return count;
}

const start = (worker: number): Promise<number> => new Promise((resolve, reject) => {
  new Worker(fileURLToPath(import.meta.url), { workerData: worker }).once('message', resolve).once('error', reject);
});

async function main(): Promise<void> {
  const bodies = solarSystem();
  offsetMomentum(bodies);
  console.log(energy(bodies).toFixed(9));
  for (let i = 0; i < 1000; i++) advance(bodies, 0.01);
  console.log(energy(bodies).toFixed(9));
  console.log(spectralNorm(100).toFixed(9));
  console.log(sum(await Promise.all([0, 1, 2, 3].map(start))));
}

if (isMainThread) await main();
else parentPort?.postMessage(countPrimes(workerData));
