// The solar system, a spectral norm, and primes found by threads.
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <thread>
#include <vector>

using Vector = std::array<double, 3>;

constexpr double pi = 3.141592653589793;
constexpr double solar_mass = 4 * pi * pi;
constexpr double days = 365.24;
constexpr int workers = 4, limit = 20000;

template <typename List> double dot(const List &a, const List &b)
{
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Vector operator-(const Vector &a, const Vector &b)
{
        return { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
}

struct Body {
        Vector position, velocity;
        double mass;

        Body(Vector position, Vector velocity, double mass)
                : position(position), velocity(velocity), mass(mass * solar_mass)
        {
                for (auto &part : this->velocity)
                        part *= days;
        }
};

class System {
    public:
        System()
        {
                for (int axis = 0; axis < 3; axis++) {
                        double momentum = 0;

                        for (auto &body : bodies_)
                                momentum += body.velocity[axis] * body.mass;
                        bodies_[0].velocity[axis] = -momentum / solar_mass;
                }
        }

        double energy() const
        {
                double total = 0;

                for (auto &body : bodies_)
                        total += 0.5 * body.mass * dot(body.velocity, body.velocity);
                for (auto a = bodies_.begin(); a != bodies_.end(); ++a)
                        for (auto b = a + 1; b != bodies_.end(); ++b) {
                                auto away = a->position - b->position;
                                total -= a->mass * b->mass / std::sqrt(dot(away, away));
                        }
                return total;
        }

        void advance(double step)
        {
                for (auto a = bodies_.begin(); a != bodies_.end(); ++a)
                        for (auto b = a + 1; b != bodies_.end(); ++b) {
                                auto away = a->position - b->position;
                                double magnitude = step / std::pow(dot(away, away), 1.5);

                                for (int axis = 0; axis < 3; axis++) {
                                        a->velocity[axis] -= away[axis] * b->mass * magnitude;
                                        b->velocity[axis] += away[axis] * a->mass * magnitude;
                                }
                        }
                for (auto &body : bodies_)
                        for (int axis = 0; axis < 3; axis++)
                                body.position[axis] += step * body.velocity[axis];
        }

    private:
        std::vector<Body> bodies_ = {
                { { 0, 0, 0 }, { 0, 0, 0 }, 1 },
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
};

static double element(int i, int j)
{
        return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
}

static std::vector<double> multiply(const std::vector<double> &in, bool turned)
{
        std::vector<double> out(in.size());

        for (std::size_t i = 0; i < in.size(); i++)
                for (std::size_t j = 0; j < in.size(); j++)
                        out[i] += in[j] * (turned ? element(j, i) : element(i, j));
        return out;
}

static double spectral_norm(int size)
{
        std::vector<double> u(size, 1), v;

        for (int i = 0; i < 10; i++) {
                v = multiply(multiply(u, false), true);
                u = multiply(multiply(v, false), true);
        }
        return std::sqrt(dot(u, v) / dot(v, v));
}

static bool is_prime(int number)
{
        for (int divisor = 2; divisor * divisor <= number; divisor++)
                if (number % divisor == 0)
                        return false;
        return number > 1;
}

// Workers take numbers from a queue until it is closed.
class Queue {
    public:
        void put(int number)
        {
                std::lock_guard<std::mutex> lock(mutex_);
                numbers_.push(number);
                filled_.notify_one();
        }

        bool take(int &number)
        {
                std::unique_lock<std::mutex> lock(mutex_);

                filled_.wait(lock, [this] { return closed_ || !numbers_.empty(); });
                if (numbers_.empty())
                        return false;
                number = numbers_.front();
                numbers_.pop();
                return true;
        }

        void close()
        {
                std::lock_guard<std::mutex> lock(mutex_);
                closed_ = true;
                filled_.notify_all();
        }

    private:
        std::mutex mutex_;
        std::condition_variable filled_;
        std::queue<int> numbers_;
        bool closed_ = false;
};

static int count_primes()
{
        std::atomic<int> found{ 0 };
        std::vector<std::thread> threads;
        Queue queue;

        for (int i = 0; i < workers; i++)
                threads.emplace_back([&] {
                        for (int number; queue.take(number);)
                                found += is_prime(number);
                });
        for (int number = 0; number < limit; number++)
                queue.put(number);
        queue.close();
        for (auto &thread : threads)
                thread.join();
        return found;
}

int main()
{
        System system;
        auto primes = std::async(std::launch::async, count_primes);
        auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("expected"); });

        std::cout << std::fixed << std::setprecision(9) << system.energy() << "\n";
        for (int i = 0; i < 1000; i++)
                system.advance(0.01);
        std::cout << system.energy() << "\n" << spectral_norm(100) << "\n";
        try {
                failing.get();
        } catch (const std::runtime_error &) { // an exception crosses threads
                std::cout << primes.get() << std::endl;
        }
}
