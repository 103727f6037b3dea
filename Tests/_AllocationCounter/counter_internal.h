// Declarations shared by the counter's files.
#ifndef COUNTER_INTERNAL_H
#define COUNTER_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum counter_kind {
  counter_allocations, counter_bytes, counter_frees, counter_retains, counter_releases,
  counter_kinds
} counter_kind;

extern _Atomic bool allocation_counter_is_on;
/// Whether the calling thread is counted when only one thread is.
extern _Thread_local bool allocation_counter_is_own_thread;
extern _Atomic bool allocation_counter_is_for_one_thread;
extern _Atomic uint64_t allocation_counter_values[counter_kinds];

static inline bool counter_is_on(void) {
  return __builtin_expect(atomic_load_explicit(&allocation_counter_is_on, memory_order_relaxed), false) &&
         (!atomic_load_explicit(&allocation_counter_is_for_one_thread, memory_order_relaxed) || allocation_counter_is_own_thread);
}

static inline void counter_add(counter_kind kind, uint64_t amount) {
  atomic_fetch_add_explicit(&allocation_counter_values[kind], amount, memory_order_relaxed);
}

// retain_counter.c
void retain_counter_switch(bool is_on);

#endif
