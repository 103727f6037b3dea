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
/// The memory of this process that is resident now, in bytes; 0 where it cannot be asked.
uint64_t bench_resident_memory(void);
/// The most that was resident since the process began or bench_forget_peak_memory was called.
uint64_t bench_peak_memory(void);
void bench_forget_peak_memory(void);
/// How much memory new data can take without anything being written to a disk, in bytes; 0 where it cannot be asked.
uint64_t bench_available_memory(void);
/// Whether a folder lies in memory (tmpfs).
bool bench_is_memory_backed(const char *path);

#endif
