// The machine's clocks, heap and file system.
#include "benchmark_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  struct mallinfo2 info = mallinfo2(); // all arenas; hblkhd counts mmapped blocks
  return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
#else
  return 0;
#endif
}

/// The number after a name in a file of the kernel, converted from kB to bytes.
static uint64_t number_in(const char *path, const char *name) {
  uint64_t bytes = 0;
  char line[256];
  FILE *file = fopen(path, "r");
  if (file == NULL) { return 0; }
  size_t length = strlen(name);
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, length) == 0) { bytes = strtoull(line + length, NULL, 10) * 1024; }
  }
  fclose(file);
  return bytes;
}

// Not getrusage, whose peak includes the process before exec.
uint64_t bench_resident_memory(void) { return number_in("/proc/self/status", "VmRSS:"); }
uint64_t bench_peak_memory(void) { return number_in("/proc/self/status", "VmHWM:"); }
uint64_t bench_available_memory(void) { return number_in("/proc/meminfo", "MemAvailable:"); }

void bench_forget_peak_memory(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) { return; }
  fputs("5", file);
  fclose(file);
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
