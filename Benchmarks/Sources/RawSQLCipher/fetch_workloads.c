// W2 to W8: opening, fetching, querying, counting.
#include <stdio.h>

#include "raw_internal.h"

enum { opens = 20 };

static double open_count(const raw_state *state) { (void)state; return opens; }

// W2: opens a closed store, sets the key, and reads one metadata row. Every opening uses a separate store, since the first connection to a
// store is slower than later ones. The schema matters here; there are no rows. Closing is not measured.
static sqlite3 *opened[opens];

static void w2_path(raw_state *state, int index, char path[4096]) { snprintf(path, 4096, "%s-%d", state->work_path, index); }

void raw_make_store(const char *path) {
  raw_remove_store(path);
  sqlite3 *db = raw_connect(path, RAW_NORMAL);
  raw_create_library(db);
  raw_disconnect(&db);
}

static void w2_prepare(raw_state *state) {
  char path[4096];
  for (int i = 0; i < opens; i++) {
    w2_path(state, i, path);
    raw_make_store(path);
  }
}

static uint64_t open_store(const char *path, sqlite3 **db) {
  *db = raw_connect(path, RAW_NORMAL);
  sqlite3_stmt *statement = raw_prepare(*db, "SELECT version, model FROM metadata");
  if (sqlite3_step(statement) != SQLITE_ROW) { raw_fail(*db, "metadata"); }
  uint64_t version = (uint64_t)sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return version;
}

void raw_open_once(const char *path) {
  sqlite3 *db;
  open_store(path, &db);
}

static void w2_run(raw_state *state) {
  char path[4096];
  state->touched = 0;
  for (int i = 0; i < opens; i++) {
    w2_path(state, i, path);
    state->touched += open_store(path, &opened[i]);
  }
}

static uint64_t w2_finish(raw_state *state) {
  char path[4096];
  for (int i = 0; i < opens; i++) {
    raw_disconnect(&opened[i]);
    w2_path(state, i, path);
    raw_remove_store(path);
  }
  return state->touched;
}

// W3: every book on a connection with an empty page cache.
static void w3_prepare(raw_state *state) {
  raw_need_base(state);
  state->other = raw_connect(state->base_path, RAW_NORMAL);
}

static void w3_run(raw_state *state) {
  sqlite3_stmt *statement = raw_prepare(state->other, "SELECT " RAW_BOOK_COLUMNS " FROM book");
  raw_fetch_books(statement, &state->books);
  sqlite3_finalize(statement);
  state->touched = raw_touch_books(&state->books);
}

static uint64_t finish_books(raw_state *state) {
  uint64_t sum = bench_mix(state->touched, raw_deep_books(&state->books));
  raw_free_books(&state->books);
  return sum;
}

static uint64_t w3_finish(raw_state *state) {
  raw_disconnect(&state->other);
  return finish_books(state);
}

// W4: the same, pages cached.
static void w4_prepare(raw_state *state) {
  raw_need_base(state);
  raw_fetch_books(state->select_all, &state->books);
  raw_free_books(&state->books);
}

static void w4_run(raw_state *state) {
  raw_fetch_books(state->select_all, &state->books);
  state->touched = raw_touch_books(&state->books);
}

// W5: the result is not used in the measured part.
static void w5_run(raw_state *state) { raw_fetch_books(state->select_all, &state->books); }

static uint64_t w5_finish(raw_state *state) {
  state->touched = raw_touch_books(&state->books);
  return finish_books(state);
}

// W6: fetched again while the first rows are still held. The C program has to read them again.
static void w6_prepare(raw_state *state) {
  w4_prepare(state);
  raw_fetch_books(state->select_all, &state->second);
}

static uint64_t w6_finish(raw_state *state) {
  raw_free_books(&state->second);
  return w5_finish(state);
}

// W7: price above 50, by title, the first 1,000. The checksum depends on the order.
static void w7_run(raw_state *state) {
  sqlite3_bind_double(state->select_top, 1, 50.0);
  raw_fetch_books(state->select_top, &state->books);
  state->touched = raw_touch_books(&state->books);
}

static uint64_t w7_finish(raw_state *state) {
  uint64_t order = 0;
  for (size_t i = 0; i < state->books.count; i++) { order = bench_mix(order, bench_isbn_index(state->books.rows[i].isbn)); }
  return bench_mix(order, finish_books(state));
}

// W8: counts.
static uint64_t counted(sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_ROW) { raw_fail(sqlite3_db_handle(statement), "count"); }
  uint64_t count = (uint64_t)sqlite3_column_int64(statement, 0);
  sqlite3_reset(statement);
  return count;
}

// One call, as an application makes it. In a loop, each call is four times as fast because of the processor's caches.
static void w8a_run(raw_state *state) { state->touched = counted(state->count_all); }

static void w8b_run(raw_state *state) {
  sqlite3_bind_double(state->count_where, 1, 50.0);
  state->touched = counted(state->count_where);
}

static uint64_t touched(raw_state *state) { return state->touched; }

const raw_workload raw_fetch_workloads[] = {
    {"W2b", "container made and opened, later", RAW_MILLISECONDS_EACH, w2_prepare, w2_run, w2_finish, open_count},
    {"W3", "fetch_cold", RAW_MILLISECONDS, w3_prepare, w3_run, w3_finish, raw_one},
    {"W4", "fetch_warm", RAW_MILLISECONDS, w4_prepare, w4_run, finish_books, raw_one},
    {"W5", "fetch_warm, not touched", RAW_MILLISECONDS, w4_prepare, w5_run, w5_finish, raw_one},
    {"W6", "refetch", RAW_MILLISECONDS, w6_prepare, w5_run, w6_finish, raw_one},
    {"W7", "query_top", RAW_MILLISECONDS, w4_prepare, w7_run, w7_finish, raw_one},
    {"W8a", "count", RAW_MILLISECONDS, w4_prepare, w8a_run, touched, raw_one},
    {"W8b", "count_where", RAW_MILLISECONDS, w4_prepare, w8b_run, touched, raw_one},
};
const int raw_fetch_workload_count = sizeof raw_fetch_workloads / sizeof raw_fetch_workloads[0];
