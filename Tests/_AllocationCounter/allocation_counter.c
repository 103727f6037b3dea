// The counts and their start and end.
#include "allocation_counter.h"

#include "counter_internal.h"

_Atomic bool allocation_counter_is_on;
_Thread_local bool allocation_counter_is_own_thread;
_Atomic bool allocation_counter_is_for_one_thread;
_Atomic uint64_t allocation_counter_values[counter_kinds];

static uint64_t value(counter_kind kind) { return atomic_load_explicit(&allocation_counter_values[kind], memory_order_relaxed); }

void allocation_counter_start(void) {
  for (int kind = 0; kind < counter_kinds; kind++) { atomic_store(&allocation_counter_values[kind], 0); }
  atomic_store(&allocation_counter_is_on, true);
}

void allocation_counter_start_on_this_thread(void) {
  allocation_counter_is_own_thread = true;
  atomic_store(&allocation_counter_is_for_one_thread, true);
  allocation_counter_start();
}

void allocation_counter_start_with_retains(void) {
  retain_counter_switch(true);
  allocation_counter_start();
}

allocation_counts allocation_counter_stop(void) {
  atomic_store(&allocation_counter_is_on, false);
  atomic_store(&allocation_counter_is_for_one_thread, false);
  allocation_counter_is_own_thread = false;
  retain_counter_switch(false);
  return (allocation_counts){
      value(counter_allocations), value(counter_bytes), value(counter_frees), value(counter_retains), value(counter_releases)};
}

void counted_work_begins(void) {}
void counted_work_ends(void) {}
