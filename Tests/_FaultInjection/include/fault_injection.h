// Stands in front of the system's calls and of SQLite's memory in programs that are linked to it: records what is done to the files of one folder, and
// lets calls fail. It is off until a folder is watched, and costs one branch then.
#ifndef FAULT_INJECTION_H
#define FAULT_INJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether calls can be seen at all: on Linux, without the thread sanitizer, which stands in the same place.
bool fault_injection_works(void);

// Files.

/// The kinds of calls that can fail.
typedef enum fault_call {
  fault_call_open,  // open and its like
  fault_call_read,  // read, pread
  fault_call_write, // write, pwrite
  fault_call_sync,  // fsync, fdatasync
  fault_call_lock,  // fcntl's locks, flock
  fault_call_size,  // ftruncate
  fault_call_name,  // rename, link, unlink, mkdir, rmdir
  fault_call_map,   // mmap
  fault_call_count
} fault_call;

/// Begins to see what is done to the files of a folder; files that are open already are not seen. Only one folder at a time.
void fault_watch(const char *folder);
/// Sees nothing any more.
void fault_unwatch(void);
/// Whether syncs reach the disk: where crashes are played, they need not.
void fault_let_syncs_pass(bool passes);

/// What fails: calls of a kind from the `first` (1 is the next) on, as many as `times` says.
typedef struct fault_plan {
  fault_call call;
  uint64_t first;
  uint64_t times;
  int error; // errno; 0 lets a read or write do half of what it was asked for; or one of the following
} fault_plan;

enum {
  fault_kill = -1,        // the process ends by SIGKILL instead of the call
  fault_kill_halfway = -2 // a write does half of it before
};

/// Forks this process, which must have one thread only.
int fault_fork(void);

/// Begins to count calls, and lets some fail.
void fault_arm(fault_plan plan);
/// Counts without a fault.
void fault_arm_nothing(void);
/// Ends it.
void fault_disarm(void);
/// The calls of a kind since the counting began.
uint64_t fault_calls(fault_call call);
/// How many of them were made to fail.
uint64_t fault_failures(void);

/// The kinds of records.
typedef enum fault_record_kind {
  fault_record_open = 1, // `handle` from here on stands for the file at `first`; `offset` has the flags
  fault_record_write,    // `first` are the bytes
  fault_record_size,     // `offset` is the new size
  fault_record_sync,
  fault_record_rename, // of `first` to `second`
  fault_record_link,   // a second name `second` of `first`
  fault_record_unlink,
  fault_record_mkdir,
  fault_record_rmdir,
  fault_record_note // `offset` is what the test said
} fault_record_kind;

/// What stands before the bytes of a record. Paths are relative to the folder.
typedef struct fault_record {
  uint32_t kind;
  uint32_t handle;
  uint64_t offset;
  uint32_t first;  // the bytes of the first part, which follow
  uint32_t second; // and of the second
} fault_record;

/// Begins to record what changes files and names.
void fault_record_start(void);
/// Puts a note of the test's own among the records.
void fault_record_note_number(uint64_t number);
/// Ends it. The records one behind another, which are the caller's to free; NULL where there are none.
void *fault_record_stop(size_t *size);

// The memory of SQLite.

/// Gives SQLite memory that can run out. Only before SQLite is used for the first time; says whether it was.
bool fault_memory_install(void);
/// Begins to count pieces of memory that SQLite asks for, and refuses `times` of them from the `first` (1 is the next) on.
void fault_memory_arm(uint64_t first, uint64_t times);
/// Ends it; how many pieces were asked for.
uint64_t fault_memory_disarm(void);
/// How many pieces SQLite has that it has not given back.
int64_t fault_memory_pieces(void);

#endif
