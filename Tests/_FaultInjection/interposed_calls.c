// System calls on files, interposed before the C library's: SQLite and Foundation both use them. Calls outside of the watched folder are
// passed through.
#define _GNU_SOURCE
#include "fault_internal.h"

#if defined(FAULT_WORKS)

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

NEXT(openat)
NEXT(close)
NEXT(read)
NEXT(pread)
NEXT(write)
NEXT(pwrite)
NEXT(fsync)
NEXT(fdatasync)
NEXT(ftruncate)
NEXT(fcntl)
NEXT(flock)
NEXT(renameat)
NEXT(linkat)
NEXT(unlinkat)
NEXT(mkdirat)
NEXT(mmap)
NEXT(usleep)
NEXT(nanosleep)

/// Completes a failing call. The mutex must be held.
static int refuse(int error) {
  pthread_mutex_unlock(&fault_mutex);
  errno = error;
  return -1;
}

/// Completes a call that was made. The mutex must be held; `errno` is preserved.
static void done(void) {
  int error = errno;
  pthread_mutex_unlock(&fault_mutex);
  errno = error;
}

// Opening.

static int open_file(int folder, const char *path, int flags, mode_t mode) {
  char relative[fault_longest_path];
  if (!fault_watches() || path == NULL || !fault_relative(folder, path, relative)) { return real_openat()(folder, path, flags, mode); }
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_open);
  if (verdict.error != 0) { return refuse(verdict.error); }
  int descriptor = real_openat()(folder, path, flags, mode);
  if (descriptor >= 0 && descriptor < fault_most_descriptors) {
    fault_handles[descriptor] = fault_new_handle();
    fault_note(fault_record_open, fault_handles[descriptor], (uint64_t)flags, relative, strlen(relative), NULL, 0);
  }
  done();
  return descriptor;
}

#define MODE                                                                                                                                         \
  mode_t mode = 0;                                                                                                                                   \
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {                                                                                  \
    va_list arguments;                                                                                                                               \
    va_start(arguments, flags);                                                                                                                      \
    mode = (mode_t)va_arg(arguments, int);                                                                                                           \
    va_end(arguments);                                                                                                                               \
  }

int open(const char *path, int flags, ...) {
  MODE return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE return open_file(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE return open_file(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE return open_file(folder, path, flags | O_LARGEFILE, mode);
}

int close(int descriptor) {
  if (fault_watches_descriptor(descriptor)) {
    pthread_mutex_lock(&fault_mutex);
    fault_handles[descriptor] = 0;
    pthread_mutex_unlock(&fault_mutex);
  }
  return real_close()(descriptor);
}

// Reading and writing.

/// Whether a read fails, with its error set; if not, it may be limited to half of the bytes.
static int refuses_read(int descriptor, size_t *count) {
  if (!fault_watches_descriptor(descriptor)) { return 0; }
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_read);
  if (verdict.error != 0) { return refuse(verdict.error) != 0; }
  pthread_mutex_unlock(&fault_mutex);
  if (verdict.is_half) { *count = (*count + 1) / 2; }
  return 0;
}

ssize_t read(int descriptor, void *buffer, size_t count) {
  if (refuses_read(descriptor, &count)) { return -1; }
  return real_read()(descriptor, buffer, count);
}

ssize_t pread(int descriptor, void *buffer, size_t count, off_t offset) {
  if (refuses_read(descriptor, &count)) { return -1; }
  return real_pread()(descriptor, buffer, count, offset);
}
ssize_t pread64(int descriptor, void *buffer, size_t count, off64_t offset) { return pread(descriptor, buffer, count, (off_t)offset); }

ssize_t write(int descriptor, const void *buffer, size_t count) {
  write_watch_look(descriptor, "write", buffer, count);
  if (!fault_watches_descriptor(descriptor)) { return real_write()(descriptor, buffer, count); }
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_write);
  if (verdict.error != 0) { return refuse(verdict.error); }
  if (verdict.is_half) { count = (count + 1) / 2; }
  ssize_t written = real_write()(descriptor, buffer, count);
  if (verdict.is_last) { fault_end_process(); }
  if (written > 0) {
    off_t end = lseek(descriptor, 0, SEEK_CUR);
    fault_note(fault_record_write, fault_handles[descriptor], (uint64_t)(end - written), buffer, (size_t)written, NULL, 0);
  }
  done();
  return written;
}

ssize_t pwrite(int descriptor, const void *buffer, size_t count, off_t offset) {
  write_watch_look(descriptor, "pwrite", buffer, count);
  if (!fault_watches_descriptor(descriptor)) { return real_pwrite()(descriptor, buffer, count, offset); }
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_write);
  if (verdict.error != 0) { return refuse(verdict.error); }
  if (verdict.is_half) { count = (count + 1) / 2; }
  ssize_t written = real_pwrite()(descriptor, buffer, count, offset);
  if (verdict.is_last) { fault_end_process(); }
  if (written > 0) { fault_note(fault_record_write, fault_handles[descriptor], (uint64_t)offset, buffer, (size_t)written, NULL, 0); }
  done();
  return written;
}
ssize_t pwrite64(int descriptor, const void *buffer, size_t count, off64_t offset) {
  return pwrite(descriptor, buffer, count, (off_t)offset);
}

int ftruncate(int descriptor, off_t size) {
  if (!fault_watches_descriptor(descriptor)) { return real_ftruncate()(descriptor, size); }
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_size);
  if (verdict.error != 0) { return refuse(verdict.error); }
  int result = real_ftruncate()(descriptor, size);
  if (result == 0) { fault_note(fault_record_size, fault_handles[descriptor], (uint64_t)size, NULL, 0, NULL, 0); }
  done();
  return result;
}
int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, (off_t)size); }

// Syncing.

static int sync_file(int descriptor, int (*real)(int)) {
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_sync);
  if (verdict.error != 0) { return refuse(verdict.error); }
  int result = fault_passes_syncs ? real(descriptor) : 0;
  if (result == 0) { fault_note(fault_record_sync, fault_handles[descriptor], 0, NULL, 0, NULL, 0); }
  done();
  return result;
}

int fsync(int descriptor) {
  return fault_watches_descriptor(descriptor) ? sync_file(descriptor, real_fsync()) : real_fsync()(descriptor);
}
int fdatasync(int descriptor) {
  return fault_watches_descriptor(descriptor) ? sync_file(descriptor, real_fdatasync()) : real_fdatasync()(descriptor);
}

// Locks, which can block: the mutex is not held meanwhile.

static int lock_error(void) {
  pthread_mutex_lock(&fault_mutex);
  fault_verdict verdict = fault_judge(fault_call_lock);
  pthread_mutex_unlock(&fault_mutex);
  return verdict.error;
}

static bool is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

static int control(int descriptor, int command, void *argument) {
  if (fault_watches_descriptor(descriptor)) {
    // Unlocking never fails.
    if (is_lock(command) && ((struct flock *)argument)->l_type != F_UNLCK) {
      int error = lock_error();
      if (error != 0) {
        errno = error;
        return -1;
      }
    }
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
      pthread_mutex_lock(&fault_mutex);
      int copy = real_fcntl()(descriptor, command, argument);
      if (copy >= 0 && copy < fault_most_descriptors) { fault_handles[copy] = fault_handles[descriptor]; }
      done();
      return copy;
    }
  }
  return real_fcntl()(descriptor, command, argument);
}

#define ARGUMENT                                                                                                                                     \
  va_list arguments;                                                                                                                                 \
  va_start(arguments, command);                                                                                                                      \
  void *argument = va_arg(arguments, void *);                                                                                                        \
  va_end(arguments);

int fcntl(int descriptor, int command, ...) {
  ARGUMENT return control(descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
  ARGUMENT return control(descriptor, command, argument);
}

int flock(int descriptor, int operation) {
  if (fault_watches_descriptor(descriptor) && (operation & LOCK_UN) == 0) {
    int error = lock_error();
    if (error != 0) {
      errno = error;
      return -1;
    }
  }
  return real_flock()(descriptor, operation);
}

// Names.

static int change_two(int old_folder, const char *old_path, int new_folder, const char *new_path, int flags, fault_record_kind kind) {
  char old_relative[fault_longest_path], new_relative[fault_longest_path];
  bool is_watched = fault_watches() && fault_relative(old_folder, old_path, old_relative) && fault_relative(new_folder, new_path, new_relative);
  if (is_watched) {
    pthread_mutex_lock(&fault_mutex);
    fault_verdict verdict = fault_judge(fault_call_name);
    if (verdict.error != 0) { return refuse(verdict.error); }
  }
  int result = kind == fault_record_rename ? real_renameat()(old_folder, old_path, new_folder, new_path)
                                           : real_linkat()(old_folder, old_path, new_folder, new_path, flags);
  if (is_watched) {
    if (result == 0) { fault_note(kind, 0, 0, old_relative, strlen(old_relative), new_relative, strlen(new_relative)); }
    done();
  }
  return result;
}

int rename(const char *old_path, const char *new_path) {
  return change_two(AT_FDCWD, old_path, AT_FDCWD, new_path, 0, fault_record_rename);
}
int renameat(int old_folder, const char *old_path, int new_folder, const char *new_path) {
  return change_two(old_folder, old_path, new_folder, new_path, 0, fault_record_rename);
}
int link(const char *old_path, const char *new_path) { return change_two(AT_FDCWD, old_path, AT_FDCWD, new_path, 0, fault_record_link); }
int linkat(int old_folder, const char *old_path, int new_folder, const char *new_path, int flags) {
  return change_two(old_folder, old_path, new_folder, new_path, flags, fault_record_link);
}

static int change_one(int folder, const char *path, int flags, mode_t mode, fault_record_kind kind) {
  char relative[fault_longest_path];
  bool is_watched = fault_watches() && fault_relative(folder, path, relative);
  if (is_watched) {
    pthread_mutex_lock(&fault_mutex);
    fault_verdict verdict = fault_judge(fault_call_name);
    if (verdict.error != 0) { return refuse(verdict.error); }
  }
  int result = kind == fault_record_mkdir ? real_mkdirat()(folder, path, mode) : real_unlinkat()(folder, path, flags);
  if (is_watched) {
    if (result == 0) { fault_note(kind, 0, 0, relative, strlen(relative), NULL, 0); }
    done();
  }
  return result;
}

int unlink(const char *path) { return change_one(AT_FDCWD, path, 0, 0, fault_record_unlink); }
int rmdir(const char *path) { return change_one(AT_FDCWD, path, AT_REMOVEDIR, 0, fault_record_rmdir); }
int unlinkat(int folder, const char *path, int flags) {
  return change_one(folder, path, flags, 0, (flags & AT_REMOVEDIR) != 0 ? fault_record_rmdir : fault_record_unlink);
}
int mkdir(const char *path, mode_t mode) { return change_one(AT_FDCWD, path, 0, mode, fault_record_mkdir); }
int mkdirat(int folder, const char *path, mode_t mode) { return change_one(folder, path, 0, mode, fault_record_mkdir); }

// Sleeping, which is skipped while calls fail: SQLite would wait ten seconds for a lock that it cannot get.

int usleep(useconds_t microseconds) { return fault_watches() && fault_is_failing() ? 0 : real_usleep()(microseconds); }
int nanosleep(const struct timespec *wanted, struct timespec *left) {
  return fault_watches() && fault_is_failing() ? 0 : real_nanosleep()(wanted, left);
}

// Mapping, which SQLite uses for the index of a log.

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  if (fault_watches_descriptor(descriptor)) {
    pthread_mutex_lock(&fault_mutex);
    fault_verdict verdict = fault_judge(fault_call_map);
    pthread_mutex_unlock(&fault_mutex);
    if (verdict.error != 0) {
      errno = verdict.error;
      return MAP_FAILED;
    }
  }
  return real_mmap()(address, length, protection, flags, descriptor, (off_t)offset);
}

#endif
