// Makes Swift's `Mutex` visible to ThreadSanitizer. Locking a free mutex, and unlocking one without waiters, is an atomic operation in the
// caller's code, which the sanitizer sees. The contended path is in the Swift library, which is not built for the sanitizer, and in the
// kernel. The three functions of that path are interposed here and annotate their operations, as the sanitizer itself does for pthread
// locks. No report is suppressed.
#define _GNU_SOURCE
#include "fault_internal.h"

#if defined(HAS_THREAD_SANITIZER) && defined(__linux__)

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static void *next(const char *name, _Atomic(void *) *known) {
  void *found = atomic_load_explicit(known, memory_order_relaxed);
  if (found == NULL) {
    found = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(known, found, memory_order_relaxed);
  }
  return found;
}

SWIFT void fault_mutex_lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK_SLOW);
SWIFT void fault_mutex_lock_slow(uint32_t thread, SELF void *mutex) {
  static _Atomic(void *) known;
  ((SWIFT void (*)(uint32_t, SELF void *))next(LOCK_SLOW, &known))(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT bool fault_mutex_try_lock_slow(SELF void *mutex) __asm__(TRY_LOCK_SLOW);
SWIFT bool fault_mutex_try_lock_slow(SELF void *mutex) {
  static _Atomic(void *) known;
  bool is_locked = ((SWIFT bool (*)(SELF void *))next(TRY_LOCK_SLOW, &known))(mutex);
  if (is_locked) { __tsan_acquire(mutex); }
  return is_locked;
}

SWIFT void fault_mutex_unlock_slow(SELF void *mutex) __asm__(UNLOCK_SLOW);
SWIFT void fault_mutex_unlock_slow(SELF void *mutex) {
  static _Atomic(void *) known;
  __tsan_release(mutex);
  ((SWIFT void (*)(SELF void *))next(UNLOCK_SLOW, &known))(mutex);
}

#endif
