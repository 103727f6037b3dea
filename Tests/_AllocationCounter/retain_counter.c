// Retains and releases, through the pointers that the Swift runtime leaves to instruments. The symbols are weak: without them nothing is counted.
#include "allocation_counter.h"

#include <stddef.h>

#include "counter_internal.h"

typedef void *(*retain_function)(void *object);
typedef void *(*retain_many_function)(void *object, uint32_t count);
typedef void (*release_function)(void *object);
typedef void (*release_many_function)(void *object, uint32_t count);

extern retain_function _swift_retain __attribute__((weak));
extern retain_many_function _swift_retain_n __attribute__((weak));
extern release_function _swift_release __attribute__((weak));
extern release_many_function _swift_release_n __attribute__((weak));
// Runtimes since Swift 6 ask the pointers only while this is true; those before have no such symbol and always ask them.
extern bool _swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly __attribute__((weak));

static retain_function retain;
static retain_many_function retain_many;
static release_function release;
static release_many_function release_many;

static void *counted_retain(void *object) {
  counter_add(counter_retains, 1);
  return retain(object);
}

static void *counted_retain_many(void *object, uint32_t count) {
  counter_add(counter_retains, 1);
  return retain_many(object, count);
}

static void counted_release(void *object) {
  counter_add(counter_releases, 1);
  release(object);
}

static void counted_release_many(void *object, uint32_t count) {
  counter_add(counter_releases, 1);
  release_many(object, count);
}

bool allocation_counter_counts_retains(void) {
  return &_swift_retain != NULL && &_swift_retain_n != NULL && &_swift_release != NULL && &_swift_release_n != NULL;
}

void retain_counter_switch(bool is_on) {
  if (!allocation_counter_counts_retains()) { return; }
  if (retain == NULL) {
    retain = _swift_retain;
    retain_many = _swift_retain_n;
    release = _swift_release;
    release_many = _swift_release_n;
  }
  _swift_retain = is_on ? counted_retain : retain;
  _swift_retain_n = is_on ? counted_retain_many : retain_many;
  _swift_release = is_on ? counted_release : release;
  _swift_release_n = is_on ? counted_release_many : release_many;
  if (&_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly != NULL) {
    _swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly = is_on;
  }
}
