import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

class Body {
    static final double SOLAR_MASS = 4 * Math.PI * Math.PI;
    static final double DAYS = 365.24;

    final double[] position;
    final double[] velocity;
    final double mass;

    Body(double[] position, double[] velocity, double mass) {
        this.position = position;
        this.velocity = velocity;
        this.mass = mass * SOLAR_MASS;
        for (int axis = 0; axis < 3; axis++)
            velocity[axis] *= DAYS;
    }

    double[] awayFrom(Body other) {
        double[] away = new double[3];
        for (int axis = 0; axis < 3; axis++)
            away[axis] = position[axis] - other.position[axis];
        return away;
    }
}

/** The solar system, a spectral norm, and primes found by threads. */
class Planets {
    static final int WORKERS = 4;
    static final int LIMIT = 20000;

    static double[] vector(double... parts) {
        return parts;
    }

    static List<Body> solarSystem() {
        return List.of(
                new Body(vector(0, 0, 0), vector(0, 0, 0), 1),
                new Body(vector(4.84143144246472090, -1.16032004402742839, -0.103622044471123109),
                        vector(0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023),
                        0.000954791938424326609),
                new Body(vector(8.34336671824457987, 4.12479856412430479, -0.403523417114321381),
                        vector(-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929),
                        0.000285885980666130812),
                new Body(vector(12.8943695621391310, -15.1111514016986312, -0.223307578892655734),
                        vector(0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556),
                        0.0000436624404335156298),
                new Body(vector(15.3796971148509165, -25.9193146099879641, 0.179258772950371181),
                        vector(0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870),
                        0.0000515138902046611451));
    }

    static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
    }

    static void offsetMomentum(List<Body> bodies) {
        for (int axis = 0; axis < 3; axis++) {
            double momentum = 0;
            for (Body body : bodies)
                momentum += body.velocity[axis] * body.mass;
            bodies.get(0).velocity[axis] = -momentum / Body.SOLAR_MASS;
        }
    }

    static double energy(List<Body> bodies) {
        double total = 0;
        for (int i = 0; i < bodies.size(); i++) {
            Body first = bodies.get(i);
            total += 0.5 * first.mass * dot(first.velocity, first.velocity);
            for (Body second : bodies.subList(i + 1, bodies.size())) {
                double[] away = first.awayFrom(second);
                total -= first.mass * second.mass / Math.sqrt(dot(away, away));
            }
        }
        return total;
    }

    static void advance(List<Body> bodies, double step) {
        for (int i = 0; i < bodies.size(); i++) {
            Body first = bodies.get(i);
            for (Body second : bodies.subList(i + 1, bodies.size())) {
                double[] away = first.awayFrom(second);
                double magnitude = step / Math.pow(dot(away, away), 1.5);
                for (int axis = 0; axis < 3; axis++) {
                    first.velocity[axis] -= away[axis] * second.mass * magnitude;
                    second.velocity[axis] += away[axis] * first.mass * magnitude;
                }
            }
        }
        for (Body body : bodies)
            for (int axis = 0; axis < 3; axis++)
                body.position[axis] += step * body.velocity[axis];
    }

    static double element(int i, int j) {
        return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
    }

    static double[] multiply(double[] in, boolean turned) {
        double[] out = new double[in.length];
        for (int i = 0; i < in.length; i++)
            for (int j = 0; j < in.length; j++)
                out[i] += in[j] * (turned ? element(j, i) : element(i, j));
        return out;
    }

    static double spectralNorm(int size) {
        double[] u = new double[size], v = u;
        java.util.Arrays.fill(u, 1);
        for (int i = 0; i < 10; i++) {
            v = multiply(multiply(u, false), true);
            u = multiply(multiply(v, false), true);
        }
        return Math.sqrt(dot(u, v) / dot(v, v));
    }

    static boolean isPrime(int number) {
        return number > 1 && IntStream.rangeClosed(2, (int) Math.sqrt(number)).allMatch(i -> number % i != 0);
    }

    static int countPrimes(int worker) {
        return (int) IntStream.iterate(worker, n -> n < LIMIT, n -> n + WORKERS).filter(Planets::isPrime).count();
    }

    static int countTogether() throws Exception {
        var pool = Executors.newFixedThreadPool(WORKERS);
        var shared = new AtomicInteger();
        int total = 0;
        try {
            var tasks = IntStream.range(0, WORKERS).mapToObj(worker -> (java.util.concurrent.Callable<Integer>) () -> {
                shared.addAndGet(countPrimes(worker));
                return countPrimes(worker);
            }).toArray(java.util.concurrent.Callable[]::new);
            for (Object future : pool.invokeAll((List) List.of(tasks)))
                total += (Integer) ((Future<?>) future).get();
        } finally {
            pool.shutdown();
        }
        int later = CompletableFuture.supplyAsync(() -> countPrimes(1)).get();
        if (total != shared.get() || later != countPrimes(1))
            throw new AssertionError(total + " is not " + shared);
        return total;
    }

    public static void main(String[] args) throws Exception {
        Locale.setDefault(Locale.ROOT);
        var bodies = solarSystem();
        offsetMomentum(bodies);
        System.out.printf("%.9f%n", energy(bodies));
        for (int i = 0; i < 1000; i++)
            advance(bodies, 0.01);
        System.out.printf("%.9f%n%.9f%n%d%n", energy(bodies), spectralNorm(100), countTogether());
    }
}
