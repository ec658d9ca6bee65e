/* The solar system, a spectral norm, and primes found by threads. */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOLAR_MASS (4 * M_PI * M_PI)
#define DAYS 365.24
enum { BODIES = 5, WORKERS = 4, LIMIT = 20000, SIZE = 100 };

struct body {
        double position[3], velocity[3], mass;
};

static struct body bodies[BODIES] = {
        { { 0 }, { 0 }, 1 },
        { { 4.84143144246472090, -1.16032004402742839, -0.103622044471123109 },
          { 0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023 },
          0.000954791938424326609 },
        { { 8.34336671824457987, 4.12479856412430479, -0.403523417114321381 },
          { -0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929 },
          0.000285885980666130812 },
        { { 12.8943695621391310, -15.1111514016986312, -0.223307578892655734 },
          { 0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556 },
          0.0000436624404335156298 },
        { { 15.3796971148509165, -25.9193146099879641, 0.179258772950371181 },
          { 0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870 },
          0.0000515138902046611451 },
};

static double dot(const double *a, const double *b, int size)
{
        double sum = 0;

        for (int i = 0; i < size; i++)
                sum += a[i] * b[i];
        return sum;
}

static void set_up(void)
{
        for (int i = 0; i < BODIES; i++) {
                bodies[i].mass *= SOLAR_MASS;
                for (int axis = 0; axis < 3; axis++)
                        bodies[i].velocity[axis] *= DAYS;
        }
        for (int axis = 0; axis < 3; axis++) {
                double momentum = 0;

                for (int i = 0; i < BODIES; i++)
                        momentum += bodies[i].velocity[axis] * bodies[i].mass;
                bodies[0].velocity[axis] = -momentum / SOLAR_MASS;
        }
}

static void away(const struct body *first, const struct body *second, double between[3])
{
        for (int axis = 0; axis < 3; axis++)
                between[axis] = first->position[axis] - second->position[axis];
}

static double energy(void)
{
        double total = 0, between[3];

        for (int i = 0; i < BODIES; i++) {
                total += 0.5 * bodies[i].mass * dot(bodies[i].velocity, bodies[i].velocity, 3);
                for (int j = i + 1; j < BODIES; j++) {
                        away(&bodies[i], &bodies[j], between);
                        total -= bodies[i].mass * bodies[j].mass / sqrt(dot(between, between, 3));
                }
        }
        return total;
}

static void advance(double step)
{
        double between[3];

        for (int i = 0; i < BODIES; i++)
                for (int j = i + 1; j < BODIES; j++) {
                        double magnitude;

                        away(&bodies[i], &bodies[j], between);
                        magnitude = step / pow(dot(between, between, 3), 1.5);
                        for (int axis = 0; axis < 3; axis++) {
                                bodies[i].velocity[axis] -= between[axis] * bodies[j].mass * magnitude;
                                bodies[j].velocity[axis] += between[axis] * bodies[i].mass * magnitude;
                        }
                }
        for (int i = 0; i < BODIES; i++)
                for (int axis = 0; axis < 3; axis++)
                        bodies[i].position[axis] += step * bodies[i].velocity[axis];
}

static double element(int i, int j)
{
        return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
}

static void multiply(const double in[SIZE], double out[SIZE])
{
        double between[SIZE] = { 0 };

        for (int i = 0; i < SIZE; i++)
                for (int j = 0; j < SIZE; j++)
                        between[i] += element(i, j) * in[j];
        for (int i = 0; i < SIZE; i++) {
                out[i] = 0;
                for (int j = 0; j < SIZE; j++)
                        out[i] += element(j, i) * between[j];
        }
}

static double spectral_norm(void)
{
        double u[SIZE], v[SIZE];

        for (int i = 0; i < SIZE; i++)
                u[i] = 1;
        for (int i = 0; i < 10; i++) {
                multiply(u, v);
                multiply(v, u);
        }
        return sqrt(dot(u, v, SIZE) / dot(v, v, SIZE));
}

static bool is_prime(int number)
{
        for (int divisor = 2; divisor * divisor <= number; divisor++)
                if (number % divisor == 0)
                        return false;
        return number > 1;
}

static int count_primes(int worker)
{
        int count = 0;

        for (int number = worker; number < LIMIT; number += WORKERS)
                count += is_prime(number);
        return count;
}

static atomic_int found;

static void *work(void *worker)
{
        atomic_fetch_add(&found, count_primes((int)(long)worker));
        return NULL;
}

static int count_by_threads(void)
{
        pthread_t threads[WORKERS];

        for (long i = 0; i < WORKERS; i++)
                assert(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
        for (int i = 0; i < WORKERS; i++)
                pthread_join(threads[i], NULL);
        return found;
}

/* The same by processes that write into a pipe. */
static int count_by_processes(void)
{
        int ends[2], total = 0, count;

        assert(pipe(ends) == 0);
        for (int i = 0; i < WORKERS; i++)
                if (fork() == 0) {
                        count = count_primes(i);
                        _exit(write(ends[1], &count, sizeof(count)) != sizeof(count));
                }
        close(ends[1]);
        while (read(ends[0], &count, sizeof(count)) == sizeof(count))
                total += count;
        while (wait(NULL) > 0)
                ;
        return total;
}

int main(void)
{
        int primes = count_by_threads();

        set_up();
        printf("%.9f\n", energy());
        for (int i = 0; i < 1000; i++)
                advance(0.01);
        printf("%.9f\n%.9f\n", energy(), spectral_norm());
        fflush(stdout);
        assert(primes == count_by_processes());
        printf("%d\n", primes);
        return 0;
}
