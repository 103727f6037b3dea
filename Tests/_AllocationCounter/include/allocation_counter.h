// Counts a program's allocations and retains, for tests and benchmarks.
#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// The operations of all threads between start and stop.
typedef struct allocation_counts {
  uint64_t allocations; // calls of malloc, calloc, realloc and similar functions
  uint64_t bytes;       // the requested sizes
  uint64_t frees;
  uint64_t retains;     // of Swift objects: calls into the runtime
  uint64_t releases;
} allocation_counts;

/// Whether allocations can be counted: with glibc and without a sanitizer.
bool allocation_counter_counts_allocations(void);
/// Whether retains can be counted: on x86-64 Linux, with a Swift runtime that allows it.
bool allocation_counter_counts_retains(void);

/// Starts counting allocations from zero. Only one count can run at a time.
void allocation_counter_start(void);
/// Starts counting the allocations of the calling thread, which must also stop the count.
void allocation_counter_start_on_this_thread(void);
/// Starts counting retains too, for which the runtime uses a slower path.
void allocation_counter_start_with_retains(void);
/// Stops counting.
allocation_counts allocation_counter_stop(void);

/// Do nothing. callgrind counts between these calls from outside the program.
void counted_work_begins(void);
void counted_work_ends(void);

#endif
