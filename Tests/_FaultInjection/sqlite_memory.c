// SQLite's allocator, which uses the C library's until an allocation is made to fail.
#include "fault_internal.h"

#include <stdlib.h>
// Included as in the library: pkg-config knows the path.
#include <sqlite3.h>

static _Atomic bool is_armed;
static _Atomic uint64_t asked;
static _Atomic uint64_t first, times;
static _Atomic int64_t pieces;

// The size precedes each block.
enum { header = 16 };

static bool is_refused(void) {
  if (!atomic_load(&is_armed)) { return false; }
  uint64_t number = atomic_fetch_add(&asked, 1) + 1;
  uint64_t start = atomic_load(&first);
  return number >= start && number - start < atomic_load(&times);
}

static void *take(int size) {
  if (is_refused()) { return NULL; }
  char *block = malloc((size_t)size + header);
  if (block == NULL) { return NULL; }
  *(int *)block = size;
  atomic_fetch_add(&pieces, 1);
  return block + header;
}

static void give_back(void *piece) {
  if (piece == NULL) { return; }
  atomic_fetch_sub(&pieces, 1);
  free((char *)piece - header);
}

static void *resize(void *piece, int size) {
  if (is_refused()) { return NULL; }
  char *block = realloc((char *)piece - header, (size_t)size + header);
  if (block == NULL) { return NULL; }
  *(int *)block = size;
  return block + header;
}

static int size_of(void *piece) { return piece == NULL ? 0 : *(int *)((char *)piece - header); }
static int round_up(int size) { return (size + 7) & ~7; }
static int begin(void *context) {
  (void)context;
  return SQLITE_OK;
}
static void end(void *context) { (void)context; }

bool fault_memory_install(void) {
  static const sqlite3_mem_methods methods = {take, give_back, resize, size_of, round_up, begin, end, NULL};
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}

void fault_memory_arm(uint64_t start, uint64_t count) {
  atomic_store(&first, start);
  atomic_store(&times, count);
  atomic_store(&asked, 0);
  atomic_store(&is_armed, true);
}

uint64_t fault_memory_disarm(void) {
  atomic_store(&is_armed, false);
  return atomic_load(&asked);
}

int64_t fault_memory_pieces(void) { return atomic_load(&pieces); }
