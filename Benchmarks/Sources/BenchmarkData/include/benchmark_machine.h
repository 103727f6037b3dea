// What the benchmark asks of the machine: clocks, the heap, the kind of file system.
#ifndef BENCHMARK_MACHINE_H
#define BENCHMARK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/// The CPU time of this process, all threads, in seconds.
double bench_cpu_seconds(void);
/// Time that passes, in seconds.
double bench_wall_seconds(void);
/// Bytes that the heap has handed out and not got back, without malloc's own headers. 0 where it cannot be asked.
uint64_t bench_heap_bytes(void);
/// The most resident memory that the process has had, in bytes.
uint64_t bench_peak_memory(void);
/// Whether a folder lies in memory (tmpfs).
bool bench_is_memory_backed(const char *path);

#endif
