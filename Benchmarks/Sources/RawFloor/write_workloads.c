// W1 and W13 to W15: inserting, updating, deleting.
#include <stdlib.h>

#include "floor_internal.h"

// W1: the whole graph in one transaction, one statement per row.
static void w1_prepare(floor_state *state) {
  floor_remove_store(state->work_path);
  state->other = floor_connect(state->work_path, FLOOR_NORMAL);
  floor_create_library(state->other);
}

static void w1_run(floor_state *state) { floor_insert_library(state->other, state->data); }

static uint64_t finish_writing(floor_state *state) {
  uint64_t sum = floor_library_checksum(state->other, state->data);
  floor_disconnect(&state->other);
  floor_remove_store(state->work_path);
  floor_remove_store(state->disk_path);
  return sum;
}

static void prepare_sample(floor_state *state, uint64_t seed, size_t divisor) {
  state->other = floor_open_copy(state, state->work_path, FLOOR_NORMAL);
  free(state->sample);
  state->sample_count = state->data->book_count / divisor;
  state->sample = bench_sample_books(state->data, seed, state->sample_count);
}

static void update_one(floor_state *state, sqlite3_stmt *statement, uint32_t index) {
  sqlite3_bind_double(statement, 1, bench_new_price(state->data->books[index].price, index));
  sqlite3_bind_int64(statement, 2, (int64_t)index + 1);
  floor_step_done(state->other, statement);
}

static const char update_price[] = "UPDATE OR FAIL book SET price = ? WHERE id = ?";

// W13: one book in ten, at random positions, in one transaction. OR FAIL: a plain UPDATE opens an encrypted statement journal.
static void w13_prepare(floor_state *state) { prepare_sample(state, 13, 10); }

static void w13_run(floor_state *state) {
  floor_execute(state->other, "BEGIN IMMEDIATE");
  sqlite3_stmt *statement = floor_prepare(state->other, update_price);
  for (size_t i = 0; i < state->sample_count; i++) { update_one(state, statement, state->sample[i]); }
  sqlite3_finalize(statement);
  floor_execute(state->other, "COMMIT");
}

// W14: one transaction per book.
static void w14a_prepare(floor_state *state) { prepare_sample(state, 14, 200); }

static void w14b_prepare(floor_state *state) {
  prepare_sample(state, 14, 200);
  floor_disconnect(&state->other);
  state->other = floor_open_copy(state, state->disk_path, FLOOR_FULL);
}

static void w14_run(floor_state *state) {
  sqlite3_stmt *begin = floor_prepare(state->other, "BEGIN IMMEDIATE"), *commit = floor_prepare(state->other, "COMMIT");
  sqlite3_stmt *update = floor_prepare(state->other, update_price);
  for (size_t i = 0; i < state->sample_count; i++) {
    floor_step_done(state->other, begin);
    update_one(state, update, state->sample[i]);
    floor_step_done(state->other, commit);
  }
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  sqlite3_finalize(update);
}

// W15: one book in ten with its pairs.
static void w15_prepare(floor_state *state) { prepare_sample(state, 15, 10); }

static void w15_run(floor_state *state) {
  floor_execute(state->other, "BEGIN IMMEDIATE");
  sqlite3_stmt *pairs = floor_prepare(state->other, "DELETE FROM book_tag WHERE book = ?");
  sqlite3_stmt *book = floor_prepare(state->other, "DELETE FROM book WHERE id = ?");
  for (size_t i = 0; i < state->sample_count; i++) {
    int64_t id = (int64_t)state->sample[i] + 1;
    sqlite3_bind_int64(pairs, 1, id);
    floor_step_done(state->other, pairs);
    sqlite3_bind_int64(book, 1, id);
    floor_step_done(state->other, book);
  }
  sqlite3_finalize(pairs);
  sqlite3_finalize(book);
  floor_execute(state->other, "COMMIT");
}

const floor_workload floor_write_workloads[] = {
    {"W1", "insert_all", FLOOR_MILLISECONDS, w1_prepare, w1_run, finish_writing, floor_one},
    {"W13", "update", FLOOR_MILLISECONDS, w13_prepare, w13_run, finish_writing, floor_one},
    {"W14a", "commit_small, in memory, NORMAL", FLOOR_MILLISECONDS, w14a_prepare, w14_run, finish_writing, floor_one},
    {"W14b", "commit_small, on disk, FULL", FLOOR_MILLISECONDS, w14b_prepare, w14_run, finish_writing, floor_one},
    {"W15", "delete", FLOOR_MILLISECONDS, w15_prepare, w15_run, finish_writing, floor_one},
};
const int floor_write_workload_count = sizeof floor_write_workloads / sizeof floor_write_workloads[0];
