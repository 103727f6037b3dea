// The benchmark's random numbers: SplitMix64, which is reproducible in any language.
#ifndef BENCHMARK_RANDOM_H
#define BENCHMARK_RANDOM_H

#include <stdint.h>

typedef struct bench_random {
  uint64_t state; // starts as the seed
} bench_random;

/// The next 64 bits: the state grows by the golden ratio's bits, the output is the state mixed twice.
static inline uint64_t bench_random_next(bench_random *random) {
  uint64_t z = (random->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// A number in 0 ..< bound (the bias of the remainder is below 2^-40 for the bounds used here).
static inline uint32_t bench_random_below(bench_random *random, uint32_t bound) {
  return (uint32_t)(bench_random_next(random) % bound);
}

#endif
