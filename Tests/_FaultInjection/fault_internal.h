// Declarations shared by the files of the fault injection.
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

// The original function with the name of an interposed one: the C library's or SQLite's. The file defines _GNU_SOURCE.
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
/// Held while the state below is read or changed; not during system calls that can block.
extern pthread_mutex_t fault_mutex;
/// The number of the opening, by descriptor; 0 if it is not in the folder.
extern uint32_t fault_handles[fault_most_descriptors];
extern bool fault_passes_syncs;

/// Searches written bytes for stored values.
void write_watch_look(int descriptor, const char *call, const void *buffer, size_t size);

static inline bool fault_watches(void) { return atomic_load_explicit(&fault_is_watching, memory_order_relaxed); }
static inline bool fault_watches_descriptor(int descriptor) {
  return fault_watches() && descriptor >= 0 && descriptor < fault_most_descriptors && fault_handles[descriptor] != 0;
}

/// The part of a path after the watched folder; false if the path is elsewhere. `relative` has space for the longest path.
bool fault_relative(int folder, const char *path, char *relative);

/// The outcome of a call.
typedef struct fault_verdict {
  int error;    // the error to fail with; 0 lets the call succeed
  bool is_half; // it transfers half of the bytes
  bool is_last; // the process is killed afterwards
} fault_verdict;
/// Counts a call. The mutex must be held.
fault_verdict fault_judge(fault_call call);

/// Ends the process as `kill -9` does.
_Noreturn void fault_end_process(void);

/// Whether calls have failed, and can fail again.
bool fault_is_failing(void);

/// Returns a number for an opening. The mutex must be held.
uint32_t fault_new_handle(void);
/// Appends a record while recording. The mutex must be held.
void fault_note(fault_record_kind kind, uint32_t handle, uint64_t offset, const void *first, size_t first_size, const void *second,
                size_t second_size);

#endif
