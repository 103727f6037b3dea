// What the files of the fault injection share.
#ifndef FAULT_INTERNAL_H
#define FAULT_INTERNAL_H

#include "fault_injection.h"

#include <pthread.h>
#include <stdatomic.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif

#if defined(__linux__) && !defined(HAS_THREAD_SANITIZER)
#define FAULT_WORKS 1
#endif

#if defined(FAULT_WORKS)
#include <dlfcn.h>

// The function of the same name that stands behind one of ours: the C library's or SQLite's. The file defines _GNU_SOURCE.
#define NEXT(name)                                                                                                                                   \
  static _Atomic(void *) next_##name;                                                                                                                \
  static inline __typeof__(&name) real_##name(void) {                                                                                                \
    void *found = atomic_load_explicit(&next_##name, memory_order_relaxed);                                                                          \
    if (found == NULL) {                                                                                                                             \
      found = dlsym(RTLD_NEXT, #name);                                                                                                               \
      atomic_store_explicit(&next_##name, found, memory_order_relaxed);                                                                              \
    }                                                                                                                                                \
    return (__typeof__(&name))found;                                                                                                                 \
  }
#endif

enum { fault_most_descriptors = 65536, fault_longest_path = 4096 };

/// True while a folder is watched.
extern _Atomic bool fault_is_watching;
/// Held by whoever looks at or changes what is below; not while the system waits for others.
extern pthread_mutex_t fault_mutex;
/// By descriptor: the number of its opening, 0 where it is none of the folder's.
extern uint32_t fault_handles[fault_most_descriptors];
extern bool fault_passes_syncs;

/// Looks for stored values in what is written.
void write_watch_look(int descriptor, const char *call, const void *buffer, size_t size);

static inline bool fault_watches(void) { return atomic_load_explicit(&fault_is_watching, memory_order_relaxed); }
static inline bool fault_watches_descriptor(int descriptor) {
  return fault_watches() && descriptor >= 0 && descriptor < fault_most_descriptors && fault_handles[descriptor] != 0;
}

/// The part of a path behind the watched folder; false where it is somewhere else. `relative` has room for the longest path.
bool fault_relative(int folder, const char *path, char *relative);

/// What is to become of a call.
typedef struct fault_verdict {
  int error;    // what it fails with; 0 lets it pass
  bool is_half; // it does half of it
  bool is_last; // the process ends then
} fault_verdict;
/// Counts a call. The mutex is held.
fault_verdict fault_judge(fault_call call);

/// Ends the process as `kill -9` does.
_Noreturn void fault_end_process(void);

/// Whether calls have been made to fail, and may be again.
bool fault_is_failing(void);

/// A number for an opening. The mutex is held.
uint32_t fault_new_handle(void);
/// Appends a record while there is to be one. The mutex is held.
void fault_note(fault_record_kind kind, uint32_t handle, uint64_t offset, const void *first, size_t first_size, const void *second,
                size_t second_size);

#endif
