// The registered values and the search of buffers. Fingerprints of 12-byte blocks are in append-only tables without a lock.
#define _GNU_SOURCE
#include "write_watch.h"

#include "fault_internal.h"

#if defined(FAULT_WORKS)

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
// Included as in the library: pkg-config knows the path.
#define SQLITE_HAS_CODEC 1
#include <sqlite3.h>

enum { piece = 12, most_prints = 1 << 22, most_keyed = 4096, longest_report = 16 << 10 };

static _Atomic bool is_on;
static _Atomic uint64_t noted, writes, bytes_seen, found;
/// The fingerprints of blocks, and a filter of their first two bytes, which most buffers do not contain.
static _Atomic uint64_t prints[most_prints];
static _Atomic uint64_t beginnings[65536 / 64];
/// The connections with a key.
static _Atomic(sqlite3 *) keyed[most_keyed];
/// The findings as text.
static char report[longest_report];
static size_t report_size;
static pthread_mutex_t report_mutex = PTHREAD_MUTEX_INITIALIZER;

static inline uint64_t print_of(const unsigned char *bytes) {
  uint64_t first;
  uint32_t second;
  memcpy(&first, bytes, 8);
  memcpy(&second, bytes + 8, 4);
  uint64_t mixed = (first ^ (uint64_t)second << 17) * 0x9E3779B97F4A7C15u + second;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9u;
  // No fingerprint is 0.
  return (mixed ^ mixed >> 32) | 3;
}

static inline unsigned beginning_of(const unsigned char *bytes) { return bytes[0] | (unsigned)bytes[1] << 8; }

/// Whether a block is significant: six different bytes.
static bool is_telling(const unsigned char *bytes) {
  int different = 0;
  for (int i = 0; i < piece; i++) {
    if (memchr(bytes, bytes[i], (size_t)i) == NULL) { different++; }
  }
  return different >= 6;
}

/// Bound values have other fingerprints than values registered by tests.
enum { bound = 2 };

static void note_piece(const unsigned char *bytes, uint64_t kind) {
  if (!is_telling(bytes)) { return; }
  uint64_t print = print_of(bytes) ^ kind;
  for (size_t place = print % most_prints, tries = 0; tries < 64; place = (place + 1) % most_prints, tries++) {
    uint64_t empty = 0;
    if (atomic_load_explicit(&prints[place], memory_order_relaxed) == print) { return; }
    if (atomic_compare_exchange_strong(&prints[place], &empty, print)) {
      atomic_fetch_add(&noted, 1);
      unsigned beginning = beginning_of(bytes);
      atomic_fetch_or(&beginnings[beginning / 64], (uint64_t)1 << (beginning % 64));
      return;
    }
    if (empty == print) { return; }
  }
}

static bool is_noted(const unsigned char *bytes, uint64_t kind) {
  uint64_t print = print_of(bytes) ^ kind;
  for (size_t place = print % most_prints, tries = 0; tries < 64; place = (place + 1) % most_prints, tries++) {
    uint64_t other = atomic_load_explicit(&prints[place], memory_order_relaxed);
    if (other == print) { return true; }
    if (other == 0) { return false; }
  }
  return false;
}

void write_watch_note(const void *value, size_t size) {
  if (!write_watch_is_on() || value == NULL) { return; }
  for (size_t offset = 0; offset + piece <= size; offset += piece) { note_piece((const unsigned char *)value + offset, 0); }
}

/// Registers a bound value: its start, and some blocks of the rest of a long one.
static void note_bound(sqlite3_stmt *statement, const void *value, sqlite3_uint64 size) {
  if (!write_watch_is_on() || value == NULL || size < piece) { return; }
  sqlite3 *connection = sqlite3_db_handle(statement);
  for (int i = 0; i < most_keyed; i++) {
    sqlite3 *other = atomic_load_explicit(&keyed[i], memory_order_relaxed);
    if (other == NULL) { return; }
    if (other != connection) { continue; }
    const unsigned char *bytes = value;
    note_piece(bytes, bound);
    for (sqlite3_uint64 offset = 1024; offset + piece <= size && offset < 64 << 10; offset += 1024) { note_piece(bytes + offset, bound); }
    return;
  }
}

static void add_keyed(sqlite3 *connection) {
  for (int i = 0; i < most_keyed; i++) {
    sqlite3 *other = NULL;
    // A slot that was freed contains 1, so that searches continue after it.
    if (atomic_compare_exchange_strong(&keyed[i], &other, connection) || other == connection) { return; }
    other = (sqlite3 *)1;
    if (atomic_compare_exchange_strong(&keyed[i], &other, connection)) { return; }
  }
}

static void remove_keyed(sqlite3 *connection) {
  for (int i = 0; i < most_keyed; i++) {
    sqlite3 *other = connection;
    if (connection != NULL && atomic_compare_exchange_strong(&keyed[i], &other, (sqlite3 *)1)) { return; }
    if (other == NULL) { return; }
  }
}

// Files that are plaintext on purpose.

enum { most_plain = 64 };
/// The last databases that were attached with an empty key, as `exportPlaintext` does.
static char plain_paths[most_plain][fault_longest_path];
static size_t next_plain;
static _Thread_local char attached_path[fault_longest_path];

/// Whether a statement attaches a database, possibly a plaintext one. Its values are a path and a key.
static bool is_attaching(sqlite3_stmt *statement, int index, const char *text, size_t size) {
  static const char attach[] = "ATTACH DATABASE ? AS target KEY ?";
  const char *sql = sqlite3_sql(statement);
  if (sql == NULL || strncmp(sql, attach, sizeof attach - 1) != 0 || size >= fault_longest_path) { return false; }
  if (index == 1) {
    memcpy(attached_path, text, size);
    attached_path[size] = 0;
  } else if (size == 0) {
    pthread_mutex_lock(&report_mutex);
    strcpy(plain_paths[next_plain++ % most_plain], attached_path);
    pthread_mutex_unlock(&report_mutex);
  }
  return true;
}

/// Whether the file is one that tests write unencrypted on purpose.
static bool is_plain_on_purpose(const char *path) {
  for (size_t i = 0; i < most_plain; i++) {
    size_t length = strlen(plain_paths[i]);
    if (length > 0 && strncmp(path, plain_paths[i], length) == 0) { return true; }
  }
  static const char *const parts[] = {
#include "plain_files.h"
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(path, parts[i]) != NULL) { return true; }
  }
  return false;
}

static void note_found(int descriptor, const char *call, const unsigned char *bytes) {
  int error = errno;
  char link[64], path[fault_longest_path] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length >= 0) { path[length] = 0; }
  errno = error;
  if (is_plain_on_purpose(path)) { return; }
  atomic_fetch_add(&found, 1);
  pthread_mutex_lock(&report_mutex);
  char text[piece + 1] = "";
  for (int i = 0; i < piece; i++) { text[i] = bytes[i] >= 0x20 && bytes[i] < 0x7F ? (char)bytes[i] : '.'; }
  int size = snprintf(report + report_size, longest_report - report_size, "  %s to %s has \"%s\"\n", call, path, text);
  if (size > 0 && report_size + (size_t)size < longest_report) { report_size += (size_t)size; }
  pthread_mutex_unlock(&report_mutex);
}

void write_watch_look(int descriptor, const char *call, const void *buffer, size_t size) {
  if (!atomic_load_explicit(&is_on, memory_order_relaxed) || buffer == NULL) { return; }
  atomic_fetch_add_explicit(&writes, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&bytes_seen, size, memory_order_relaxed);
  const unsigned char *bytes = buffer;
  for (size_t offset = 0; offset + piece <= size; offset++) {
    unsigned beginning = beginning_of(bytes + offset);
    if ((atomic_load_explicit(&beginnings[beginning / 64], memory_order_relaxed) >> (beginning % 64) & 1) == 0) { continue; }
    if (is_noted(bytes + offset, 0) || is_noted(bytes + offset, bound)) { return note_found(descriptor, call, bytes + offset); }
  }
}

bool write_watch_finds(const void *buffer, size_t size) {
  for (size_t offset = 0; offset + piece <= size; offset++) {
    if (is_noted((const unsigned char *)buffer + offset, 0)) { return true; }
  }
  return false;
}

// The calls. `write` and `pwrite` are in interposed_calls.c.

NEXT(writev)
NEXT(pwritev)
NEXT(fwrite)
NEXT(fputs)
NEXT(sqlite3_bind_text)
NEXT(sqlite3_bind_text64)
NEXT(sqlite3_bind_blob)
NEXT(sqlite3_bind_blob64)
NEXT(sqlite3_key)
NEXT(sqlite3_close)
NEXT(sqlite3_close_v2)

static void look_at_parts(int descriptor, const char *call, const struct iovec *parts, int count) {
  for (int i = 0; i < count; i++) { write_watch_look(descriptor, call, parts[i].iov_base, parts[i].iov_len); }
}
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  look_at_parts(descriptor, "writev", parts, count);
  return real_writev()(descriptor, parts, count);
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  look_at_parts(descriptor, "pwritev", parts, count);
  return real_pwritev()(descriptor, parts, count, offset);
}
// Streams: printed and logged output.
size_t fwrite(const void *buffer, size_t size, size_t count, FILE *stream) {
  write_watch_look(fileno(stream), "fwrite", buffer, size * count);
  return real_fwrite()(buffer, size, count, stream);
}
int fputs(const char *text, FILE *stream) {
  write_watch_look(fileno(stream), "fputs", text, strlen(text));
  return real_fputs()(text, stream);
}

// The values, and the connections with a key.

int sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int size, void (*destroy)(void *)) {
  size_t length = size >= 0 ? (size_t)size : text == NULL ? 0 : strlen(text);
  if (write_watch_is_on() && !is_attaching(statement, index, text, length)) { note_bound(statement, text, length); }
  return real_sqlite3_bind_text()(statement, index, text, size, destroy);
}
int sqlite3_bind_text64(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 size, void (*destroy)(void *), unsigned char encoding) {
  note_bound(statement, text, size);
  return real_sqlite3_bind_text64()(statement, index, text, size, destroy, encoding);
}
int sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int size, void (*destroy)(void *)) {
  note_bound(statement, bytes, (sqlite3_uint64)(size < 0 ? 0 : size));
  return real_sqlite3_bind_blob()(statement, index, bytes, size, destroy);
}
int sqlite3_bind_blob64(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 size, void (*destroy)(void *)) {
  note_bound(statement, bytes, size);
  return real_sqlite3_bind_blob64()(statement, index, bytes, size, destroy);
}
int sqlite3_key(sqlite3 *connection, const void *key, int size) {
  add_keyed(connection);
  return real_sqlite3_key()(connection, key, size);
}
int sqlite3_close(sqlite3 *connection) {
  int result = real_sqlite3_close()(connection);
  if (result == SQLITE_OK) { remove_keyed(connection); }
  return result;
}
int sqlite3_close_v2(sqlite3 *connection) {
  remove_keyed(connection);
  return real_sqlite3_close_v2()(connection);
}

// The program's start and end.

bool write_watch_is_on(void) { return atomic_load_explicit(&is_on, memory_order_relaxed); }

write_watch_figures write_watch_count(void) {
  return (write_watch_figures){atomic_load(&noted), atomic_load(&writes), atomic_load(&bytes_seen), atomic_load(&found)};
}

void write_watch_forgive(uint64_t before) {
  pthread_mutex_lock(&report_mutex);
  atomic_store(&found, before);
  if (before == 0) { report_size = 0; }
  pthread_mutex_unlock(&report_mutex);
}

static void finish_watch(void) {
  atomic_store(&is_on, false);
  write_watch_figures figures = write_watch_count();
  dprintf(STDERR_FILENO, "Looked for %llu pieces of stored values in %llu writes of %llu bytes: %llu found.\n", (unsigned long long)figures.noted,
          (unsigned long long)figures.writes, (unsigned long long)figures.bytes, (unsigned long long)figures.found);
  // In a run of many suites, one can write a value that another one has stored: without strict mode, it is only reported.
  const char *mode = getenv("CIPHERDATA_WRITE_WATCH");
  if (figures.found == 0 || mode == NULL || strcmp(mode, "strict") != 0) { return; }
  dprintf(STDERR_FILENO, "Stored values were written in the clear:\n%.*s", (int)report_size, report);
  fflush(NULL);
  _exit(1);
}

__attribute__((constructor)) static void begin(void) {
  const char *end = strrchr(program_invocation_name, '.');
  if (end == NULL || strcmp(end, ".xctest") != 0) { return; }
  atomic_store(&is_on, true);
  atexit(finish_watch);
}

#else

bool write_watch_is_on(void) { return false; }
void write_watch_note(const void *bytes, size_t size) { (void)bytes, (void)size; }
write_watch_figures write_watch_count(void) { return (write_watch_figures){0, 0, 0, 0}; }
bool write_watch_finds(const void *bytes, size_t size) {
  (void)bytes, (void)size;
  return false;
}
void write_watch_forgive(uint64_t before) { (void)before; }

#endif
