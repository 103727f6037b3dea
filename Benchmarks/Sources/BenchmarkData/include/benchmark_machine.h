// The machine's clocks, heap and kind of file system.
#ifndef BENCHMARK_MACHINE_H
#define BENCHMARK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/// The CPU time of this process, all threads, in seconds.
double bench_cpu_seconds(void);
/// Wall time in seconds.
double bench_wall_seconds(void);
/// Allocated bytes of the heap, without malloc's own headers; 0 if unavailable.
uint64_t bench_heap_bytes(void);
/// The resident memory of this process in bytes; 0 if unavailable.
uint64_t bench_resident_memory(void);
/// The peak resident memory since the process started or bench_forget_peak_memory was called.
uint64_t bench_peak_memory(void);
void bench_forget_peak_memory(void);
/// The memory available for new data without writing to a disk, in bytes; 0 if unavailable.
uint64_t bench_available_memory(void);
/// Whether a folder is in memory (tmpfs).
bool bench_is_memory_backed(const char *path);

#endif
