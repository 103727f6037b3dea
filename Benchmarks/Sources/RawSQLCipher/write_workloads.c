// W1 and W13 to W15: inserting, updating, deleting.
#include <stdlib.h>

#include "raw_internal.h"

// W1: the whole graph in one transaction, one statement per row.
static void w1_prepare(raw_state *state) {
  raw_remove_store(state->work_path);
  state->other = raw_connect(state->work_path, RAW_NORMAL);
  raw_create_library(state->other);
}

static void w1_run(raw_state *state) { raw_insert_library(state->other, state->data); }

static uint64_t finish_writing(raw_state *state) {
  uint64_t sum = raw_library_checksum(state->other, state->data);
  raw_disconnect(&state->other);
  raw_remove_store(state->work_path);
  raw_remove_store(state->disk_path);
  return sum;
}

static void prepare_sample(raw_state *state, uint64_t seed, size_t divisor) {
  state->other = raw_open_copy(state, state->work_path, RAW_NORMAL);
  free(state->sample);
  state->sample_count = state->data->book_count / divisor;
  state->sample = bench_sample_books(state->data, seed, state->sample_count);
}

static void update_one(raw_state *state, sqlite3_stmt *statement, uint32_t index) {
  sqlite3_bind_double(statement, 1, bench_new_price(state->data->books[index].price, index));
  sqlite3_bind_int64(statement, 2, (int64_t)index + 1);
  raw_step_done(state->other, statement);
}

static const char update_price[] = "UPDATE OR FAIL book SET price = ? WHERE id = ?";

// W13: one book in ten, at random positions, in one transaction. OR FAIL: a plain UPDATE opens an encrypted statement journal.
static void w13_prepare(raw_state *state) { prepare_sample(state, 13, 10); }

static void w13_run(raw_state *state) {
  raw_execute(state->other, "BEGIN IMMEDIATE");
  sqlite3_stmt *statement = raw_prepare(state->other, update_price);
  for (size_t i = 0; i < state->sample_count; i++) { update_one(state, statement, state->sample[i]); }
  sqlite3_finalize(statement);
  raw_execute(state->other, "COMMIT");
}

// W14: one transaction per book.
static void w14a_prepare(raw_state *state) { prepare_sample(state, 14, 200); }

static void w14b_prepare(raw_state *state) {
  prepare_sample(state, 14, 200);
  raw_disconnect(&state->other);
  state->other = raw_open_copy(state, state->disk_path, RAW_FULL);
}

static void w14_run(raw_state *state) {
  sqlite3_stmt *begin = raw_prepare(state->other, "BEGIN IMMEDIATE"), *commit = raw_prepare(state->other, "COMMIT");
  sqlite3_stmt *update = raw_prepare(state->other, update_price);
  for (size_t i = 0; i < state->sample_count; i++) {
    raw_step_done(state->other, begin);
    update_one(state, update, state->sample[i]);
    raw_step_done(state->other, commit);
  }
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  sqlite3_finalize(update);
}

// W15: one book in ten with its pairs.
static void w15_prepare(raw_state *state) { prepare_sample(state, 15, 10); }

static void w15_run(raw_state *state) {
  raw_execute(state->other, "BEGIN IMMEDIATE");
  sqlite3_stmt *pairs = raw_prepare(state->other, "DELETE FROM book_tag WHERE book = ?");
  sqlite3_stmt *book = raw_prepare(state->other, "DELETE FROM book WHERE id = ?");
  for (size_t i = 0; i < state->sample_count; i++) {
    int64_t id = (int64_t)state->sample[i] + 1;
    sqlite3_bind_int64(pairs, 1, id);
    raw_step_done(state->other, pairs);
    sqlite3_bind_int64(book, 1, id);
    raw_step_done(state->other, book);
  }
  sqlite3_finalize(pairs);
  sqlite3_finalize(book);
  raw_execute(state->other, "COMMIT");
}

const raw_workload raw_write_workloads[] = {
    {"W1", "insert_all", RAW_MILLISECONDS, w1_prepare, w1_run, finish_writing, raw_one},
    {"W13", "update", RAW_MILLISECONDS, w13_prepare, w13_run, finish_writing, raw_one},
    {"W14a", "commit_small, in memory, NORMAL", RAW_MILLISECONDS, w14a_prepare, w14_run, finish_writing, raw_one},
    {"W14b", "commit_small, on disk, FULL", RAW_MILLISECONDS, w14b_prepare, w14_run, finish_writing, raw_one},
    {"W15", "delete", RAW_MILLISECONDS, w15_prepare, w15_run, finish_writing, raw_one},
};
const int raw_write_workload_count = sizeof raw_write_workloads / sizeof raw_write_workloads[0];
