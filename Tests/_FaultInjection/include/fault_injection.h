// Interposes the system calls and SQLite's allocator in programs that link to it: records changes to the files of one folder, and makes
// calls fail. It is off until a folder is watched, and costs one branch then.
#ifndef FAULT_INJECTION_H
#define FAULT_INJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether calls can be interposed: on Linux, without ThreadSanitizer, which interposes the same functions.
bool fault_injection_works(void);

// Files.

/// The kinds of calls that can fail.
typedef enum fault_call {
  fault_call_open,  // open and similar calls
  fault_call_read,  // read, pread
  fault_call_write, // write, pwrite
  fault_call_sync,  // fsync, fdatasync
  fault_call_lock,  // locks of fcntl, flock
  fault_call_size,  // ftruncate
  fault_call_name,  // rename, link, unlink, mkdir, rmdir
  fault_call_map,   // mmap
  fault_call_count
} fault_call;

/// Starts watching the files of a folder, except for files that are already open. Only one folder can be watched at a time.
void fault_watch(const char *folder);
/// Stops watching.
void fault_unwatch(void);
/// Whether syncs reach the disk. Simulated crashes do not need them.
void fault_let_syncs_pass(bool passes);

/// The calls to fail: `times` calls of a kind, starting with the `first` (1 is the next).
typedef struct fault_plan {
  fault_call call;
  uint64_t first;
  uint64_t times;
  int error; // errno; 0 transfers half of the bytes of a read or write; or one of the following
} fault_plan;

enum {
  fault_kill = -1,        // SIGKILL ends the process instead of the call
  fault_kill_halfway = -2 // a write transfers half of its bytes first
};

/// Forks this process, which must have only one thread.
int fault_fork(void);

/// Starts counting calls, and makes some fail.
void fault_arm(fault_plan plan);
/// Starts counting without a fault.
void fault_arm_nothing(void);
/// Stops counting.
void fault_disarm(void);
/// The number of calls of a kind since counting started.
uint64_t fault_calls(fault_call call);
/// The number of calls that were made to fail.
uint64_t fault_failures(void);

/// The kinds of records.
typedef enum fault_record_kind {
  fault_record_open = 1, // `handle` is the file at `first` from here on; `offset` has the flags
  fault_record_write,    // `first` are the bytes
  fault_record_size,     // `offset` is the new size
  fault_record_sync,
  fault_record_rename, // from `first` to `second`
  fault_record_link,   // a second name `second` for `first`
  fault_record_unlink,
  fault_record_mkdir,
  fault_record_rmdir,
  fault_record_note // `offset` is the test's number
} fault_record_kind;

/// The header of a record's bytes. Paths are relative to the folder.
typedef struct fault_record {
  uint32_t kind;
  uint32_t handle;
  uint64_t offset;
  uint32_t first;  // the length of the first part, which follows
  uint32_t second; // and of the second
} fault_record;

/// Starts recording changes to files and names.
void fault_record_start(void);
/// Adds a marker of the test to the records.
void fault_record_note_number(uint64_t number);
/// Stops recording. Returns the concatenated records, which the caller frees; NULL if there are none.
void *fault_record_stop(size_t *size);

// SQLite's memory.

/// Installs an allocator for SQLite that can fail. Returns false if SQLite was already in use.
bool fault_memory_install(void);
/// Starts counting SQLite's allocations, and makes `times` of them fail, starting with the `first` (1 is the next).
void fault_memory_arm(uint64_t first, uint64_t times);
/// Stops counting. Returns the number of allocations.
uint64_t fault_memory_disarm(void);
/// The number of SQLite's live allocations.
int64_t fault_memory_pieces(void);

#endif
