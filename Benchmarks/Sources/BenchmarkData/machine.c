// Clocks, heap and file system of the machine.
#include "benchmark_machine.h"

#include <sys/resource.h>
#include <time.h>
#ifdef __linux__
#include <malloc.h>
#include <sys/vfs.h>
#endif

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_cpu_seconds(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
double bench_wall_seconds(void) { return seconds(CLOCK_MONOTONIC); }

uint64_t bench_heap_bytes(void) {
#ifdef __GLIBC__
  struct mallinfo2 info = mallinfo2(); // all arenas; hblkhd are the blocks with a mapping of their own
  return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
#else
  return 0;
#endif
}

uint64_t bench_peak_memory(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) { return 0; }
#ifdef __APPLE__
  return (uint64_t)usage.ru_maxrss;
#else
  return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

bool bench_is_memory_backed(const char *path) {
#ifdef __linux__
  struct statfs info;
  return statfs(path, &info) == 0 && info.f_type == 0x01021994; // TMPFS_MAGIC
#else
  (void)path;
  return false;
#endif
}
