// The solar system, a spectral norm, and primes found by threads.
use std::f64::consts::PI;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

const SOLAR_MASS: f64 = 4.0 * PI * PI;
const DAYS: f64 = 365.24;
const WORKERS: u32 = 4;
const LIMIT: u32 = 20000;

type Vector = [f64; 3];

#[derive(Clone)]
struct Body {
    position: Vector,
    velocity: Vector,
    mass: f64,
}

impl Body {
    fn new(position: Vector, velocity: Vector, mass: f64) -> Body {
        Body { position, velocity: velocity.map(|part| part * DAYS), mass: mass * SOLAR_MASS }
    }

    fn away_from(&self, other: &Body) -> Vector {
        let mut away = self.position;
        away.iter_mut().zip(other.position).for_each(|(part, theirs)| *part -= theirs);
        away
    }
}

fn square(vector: &Vector) -> f64 {
    vector.iter().map(|part| part * part).sum()
}

fn solar_system() -> Vec<Body> {
    vec![
        Body::new([0.0; 3], [0.0; 3], 1.0),
        Body::new(
            [4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
            [0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023],
            0.000954791938424326609,
        ),
        Body::new(
            [8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
            [-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929],
            0.000285885980666130812,
        ),
        Body::new(
            [12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
            [0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556],
            0.0000436624404335156298,
        ),
        Body::new(
            [15.3796971148509165, -25.9193146099879641, 0.179258772950371181],
            [0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870],
            0.0000515138902046611451,
        ),
    ]
}

fn offset_momentum(bodies: &mut [Body]) {
    for axis in 0..3 {
        let momentum: f64 = bodies.iter().map(|body| body.velocity[axis] * body.mass).sum();
        bodies[0].velocity[axis] = -momentum / SOLAR_MASS;
    }
}

fn energy(bodies: &[Body]) -> f64 {
    let mut total = 0.0;
    for (i, first) in bodies.iter().enumerate() {
        total += 0.5 * first.mass * square(&first.velocity);
        for second in &bodies[i + 1..] {
            total -= first.mass * second.mass / square(&first.away_from(second)).sqrt();
        }
    }
    total
}

fn advance(bodies: &mut [Body], step: f64) {
    for i in 0..bodies.len() {
        let (before, after) = bodies.split_at_mut(i + 1);
        let first = &mut before[i];
        for second in after {
            let away = first.away_from(second);
            let magnitude = step / square(&away).powf(1.5);
            for axis in 0..3 {
                first.velocity[axis] -= away[axis] * second.mass * magnitude;
                second.velocity[axis] += away[axis] * first.mass * magnitude;
            }
        }
    }
    for body in bodies {
        for axis in 0..3 {
            body.position[axis] += step * body.velocity[axis];
        }
    }
}

fn element(i: usize, j: usize) -> f64 {
    1.0 / ((i + j) * (i + j + 1) / 2 + i + 1) as f64
}

fn multiply(vector: &[f64], element: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..vector.len())
        .map(|i| vector.iter().enumerate().map(|(j, part)| part * element(i, j)).sum())
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn spectral_norm(size: usize) -> f64 {
    let (mut u, mut v) = (vec![1.0; size], Vec::new());
    for _ in 0..10 {
        v = multiply(&multiply(&u, element), |i, j| element(j, i));
        u = multiply(&multiply(&v, element), |i, j| element(j, i));
    }
    (dot(&u, &v) / dot(&v, &v)).sqrt()
}

fn is_prime(number: u32) -> bool {
    number > 1 && (2..).take_while(|divisor| divisor * divisor <= number).all(|divisor| number % divisor != 0)
}

fn count_primes() -> u32 {
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::new(Mutex::new(0));
    let atomic = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (sender, shared, atomic) = (sender.clone(), Arc::clone(&shared), Arc::clone(&atomic));
            thread::spawn(move || {
                let numbers = (worker..LIMIT).step_by(WORKERS as usize);
                let count = numbers.filter(|&number| is_prime(number)).count() as u32;
                *shared.lock().unwrap() += count;
                atomic.fetch_add(count, Ordering::SeqCst);
                sender.send(count).unwrap();
            })
        })
        .collect();
    drop(sender);
    let total = receiver.iter().sum();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((total, total), (*shared.lock().unwrap(), atomic.load(Ordering::SeqCst)));
    total
}

fn main() {
    let mut bodies = solar_system();
    offset_momentum(&mut bodies);
    println!("{:.9}", energy(&bodies));
    for _ in 0..1000 {
        advance(&mut bodies, 0.01);
    }
    println!("{:.9}\n{:.9}\n{}", energy(&bodies), spectral_norm(100), count_primes());
}
