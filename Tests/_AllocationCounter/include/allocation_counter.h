// Counts what a program allocates and retains, for tests and benchmarks.
#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// What all threads did between start and stop.
typedef struct allocation_counts {
  uint64_t allocations; // calls of malloc, calloc, realloc and their like
  uint64_t bytes;       // what they asked for
  uint64_t frees;
  uint64_t retains;     // of Swift objects: calls into the runtime
  uint64_t releases;
} allocation_counts;

/// Whether allocations can be counted: with glibc and without a sanitizer.
bool allocation_counter_counts_allocations(void);
/// Whether retains can be counted: on x86-64 Linux, in a program that is linked to a Swift runtime that lets them be.
bool allocation_counter_counts_retains(void);

/// Begins to count allocations, from zero. Only one count at a time.
void allocation_counter_start(void);
/// Begins to count the allocations of the calling thread, which ends it too.
void allocation_counter_start_on_this_thread(void);
/// Begins to count retains too, for which the runtime takes a slower way.
void allocation_counter_start_with_retains(void);
/// Ends it.
allocation_counts allocation_counter_stop(void);

/// Do nothing: callgrind, which looks at a program from outside, counts between their calls.
void counted_work_begins(void);
void counted_work_ends(void);

#endif
