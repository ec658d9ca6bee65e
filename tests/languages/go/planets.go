// The solar system, a spectral norm, and primes found by goroutines.
package main

import (
	"fmt"
	"math"
	"sync"
)

const (
	solarMass = 4 * math.Pi * math.Pi
	days      = 365.24
	workers   = 4
	limit     = 20000
)

type vector [3]float64

type body struct {
	position, velocity vector
	mass               float64
}

func newBody(position, velocity vector, mass float64) *body {
	for axis := range velocity {
		velocity[axis] *= days
	}
	return &body{position, velocity, mass * solarMass}
}

func solarSystem() []*body {
	return []*body{
		newBody(vector{}, vector{}, 1),
		newBody(vector{4.84143144246472090, -1.16032004402742839, -0.103622044471123109},
			vector{0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023},
			0.000954791938424326609),
		newBody(vector{8.34336671824457987, 4.12479856412430479, -0.403523417114321381},
			vector{-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929},
			0.000285885980666130812),
		newBody(vector{12.8943695621391310, -15.1111514016986312, -0.223307578892655734},
			vector{0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556},
			0.0000436624404335156298),
		newBody(vector{15.3796971148509165, -25.9193146099879641, 0.179258772950371181},
			vector{0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870},
			0.0000515138902046611451),
	}
}

func (v vector) minus(other vector) vector {
	return vector{v[0] - other[0], v[1] - other[1], v[2] - other[2]}
}

func (v vector) square() float64 {
	return v[0]*v[0] + v[1]*v[1] + v[2]*v[2]
}

func offsetMomentum(bodies []*body) {
	for axis := 0; axis < 3; axis++ {
		momentum := 0.0
		for _, b := range bodies {
			momentum += b.velocity[axis] * b.mass
		}
		bodies[0].velocity[axis] = -momentum / solarMass
	}
}

func energy(bodies []*body) float64 {
	total := 0.0
	for i, first := range bodies {
		total += 0.5 * first.mass * first.velocity.square()
		for _, second := range bodies[i+1:] {
			total -= first.mass * second.mass / math.Sqrt(first.position.minus(second.position).square())
		}
	}
	return total
}

func advance(bodies []*body, step float64) {
	for i, first := range bodies {
		for _, second := range bodies[i+1:] {
			away := first.position.minus(second.position)
			magnitude := step / math.Pow(away.square(), 1.5)
			for axis, part := range away {
				first.velocity[axis] -= part * second.mass * magnitude
				second.velocity[axis] += part * first.mass * magnitude
			}
		}
	}
	for _, b := range bodies {
		for axis := range b.position {
			b.position[axis] += step * b.velocity[axis]
		}
	}
}

func element(i, j int) float64 {
	return 1 / float64((i+j)*(i+j+1)/2+i+1)
}

func multiply(in []float64, turned bool) []float64 {
	out := make([]float64, len(in))
	for i := range out {
		for j, part := range in {
			if turned {
				out[i] += part * element(j, i)
			} else {
				out[i] += part * element(i, j)
			}
		}
	}
	return out
}

func spectralNorm(size int) float64 {
	u, v := make([]float64, size), []float64(nil)
	for i := range u {
		u[i] = 1
	}
	for i := 0; i < 10; i++ {
		v = multiply(multiply(u, false), true)
		u = multiply(multiply(v, false), true)
	}
	var uv, vv float64
	for i := range u {
		uv += u[i] * v[i]
		vv += v[i] * v[i]
	}
	return math.Sqrt(uv / vv)
}

func isPrime(number int) bool {
	for divisor := 2; divisor*divisor <= number; divisor++ {
		if number%divisor == 0 {
			return false
		}
	}
	return number > 1
}

func countPrimes() int {
	found := make(chan int)
	var group sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		group.Add(1)
		go func(start int) {
			defer group.Done()
			for number := start; number < limit; number += workers {
				if isPrime(number) {
					found <- number
				}
			}
		}(worker)
	}
	go func() {
		group.Wait()
		close(found)
	}()
	count := 0
	for range found {
		count++
	}
	return count
}

func main() {
	bodies := solarSystem()
	offsetMomentum(bodies)
	fmt.Printf("%.9f\n", energy(bodies))
	for i := 0; i < 1000; i++ {
		advance(bodies, 0.01)
	}
	fmt.Printf("%.9f\n%.9f\n%d\n", energy(bodies), spectralNorm(100), countPrimes())
}
