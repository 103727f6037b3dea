// W12: the tags of books, one query per book and one query for many.
#include <stdio.h>
#include <stdlib.h>

#include "raw_internal.h"

enum { step = 10, batch = 500 };

static void prepare_books(raw_state *state) {
  raw_warm_up(state);
  raw_take_sample(state, 12);
}

// One by one: each name is copied, as the library makes a string of it, and released immediately.
static void read_tags(raw_state *state, int64_t book, uint64_t *sum, uint64_t *count) {
  sqlite3_bind_int64(state->select_tags, 1, book);
  while (sqlite3_step(state->select_tags) == SQLITE_ROW) {
    uint32_t length;
    char *name = raw_copied_text(state->select_tags, 1, &length);
    *sum += length;
    *count += 1;
    free(name);
  }
  sqlite3_reset(state->select_tags);
}

static void read_each(raw_state *state, size_t stride) {
  uint64_t sum = 0, count = 0;
  raw_execute(state->base, "BEGIN");
  for (size_t i = 0; i < state->data->book_count; i += stride) { read_tags(state, (int64_t)i + 1, &sum, &count); }
  raw_execute(state->base, "COMMIT");
  state->touched = bench_mix(sum, count);
}

static void read_every_tenth(raw_state *state) { read_each(state, step); }
static void read_all(raw_state *state) { read_each(state, 1); }

static uint64_t deep_tags(raw_state *state, int64_t book) {
  uint64_t sum = 0;
  sqlite3_bind_int64(state->select_tags, 1, book);
  while (sqlite3_step(state->select_tags) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(state->select_tags, 1);
    sum += bench_tag_deep(name, (size_t)sqlite3_column_bytes(state->select_tags, 1));
  }
  sqlite3_reset(state->select_tags);
  return sum;
}

static uint64_t finish_every_tenth(raw_state *state) {
  for (size_t i = 0; i < state->data->book_count; i += step) { state->touched += deep_tags(state, (int64_t)i + 1); }
  return state->touched;
}

static uint64_t finish_all(raw_state *state) { return state->touched; }

static uint64_t finish_sample(raw_state *state) {
  for (size_t i = 0; i < state->sample_count; i++) { state->touched += deep_tags(state, (int64_t)state->sample[i] + 1); }
  return state->touched;
}

// Together: the pairs of 500 books per query, then the tags that they name, each once.
static sqlite3_stmt *prepare_list(sqlite3 *db, const char *head) {
  char sql[256 + 2 * batch];
  int length = snprintf(sql, sizeof sql, "%s (?", head);
  for (int i = 1; i < batch; i++) { length += snprintf(sql + length, sizeof sql - (size_t)length, ",?"); }
  snprintf(sql + length, sizeof sql - (size_t)length, ")");
  return raw_prepare(db, sql);
}

static void bind_list(sqlite3_stmt *statement, const int64_t *keys, size_t count) {
  for (size_t i = 0; i < batch; i++) {
    if (i < count) {
      sqlite3_bind_int64(statement, (int)i + 1, keys[i]);
    } else {
      sqlite3_bind_null(statement, (int)i + 1);
    }
  }
}

typedef struct tag_list {
  raw_tag *tags; // by key; without a name until first use
  int64_t *wanted; // the keys of the tags found so far
  size_t wanted_count;
} tag_list;

static void read_pairs(raw_state *state, sqlite3_stmt *statement, const int64_t *books, size_t count, tag_list *list) {
  bind_list(statement, books, count);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (state->pair_count == state->pair_room) {
      state->pair_room = state->pair_room == 0 ? 1024 : state->pair_room * 2;
      state->pairs = raw_grown(state->pairs, state->pair_room * sizeof *state->pairs);
    }
    int64_t tag = sqlite3_column_int64(statement, 1);
    state->pairs[state->pair_count++] = (raw_pair){sqlite3_column_int64(statement, 0), tag};
    if (list->tags[tag].id == 0) {
      list->tags[tag].id = tag;
      list->wanted[list->wanted_count++] = tag;
    }
  }
  sqlite3_reset(statement);
}

static void read_wanted(sqlite3_stmt *statement, const int64_t *keys, size_t count, tag_list *list) {
  bind_list(statement, keys, count);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    raw_tag *tag = &list->tags[sqlite3_column_int64(statement, 0)];
    tag->name = raw_copied_text(statement, 1, &tag->name_length);
  }
  sqlite3_reset(statement);
}

static size_t batch_at(size_t start, size_t count) { return count - start < batch ? count - start : batch; }

static void read_at_once(raw_state *state) {
  tag_list list = {calloc(state->data->tag_count + 1, sizeof *list.tags), calloc(state->data->tag_count + 1, sizeof *list.wanted), 0};
  int64_t *books = calloc(state->sample_count, sizeof *books);
  if (list.tags == NULL || list.wanted == NULL || books == NULL) { raw_fail(NULL, "no memory"); }
  for (size_t i = 0; i < state->sample_count; i++) { books[i] = (int64_t)state->sample[i] + 1; }
  raw_execute(state->base, "BEGIN");
  sqlite3_stmt *pairs = prepare_list(state->base, "SELECT book, tag FROM book_tag WHERE book IN");
  sqlite3_stmt *tags = prepare_list(state->base, "SELECT id, name FROM tag WHERE id IN");
  for (size_t i = 0; i < state->sample_count; i += batch) {
    read_pairs(state, pairs, books + i, batch_at(i, state->sample_count), &list);
  }
  for (size_t i = 0; i < list.wanted_count; i += batch) {
    read_wanted(tags, list.wanted + i, batch_at(i, list.wanted_count), &list);
  }
  sqlite3_finalize(pairs);
  sqlite3_finalize(tags);
  raw_execute(state->base, "COMMIT");
  uint64_t sum = 0;
  for (size_t i = 0; i < state->pair_count; i++) { sum += list.tags[state->pairs[i].tag].name_length; }
  state->touched = bench_mix(sum, state->pair_count);
  for (size_t i = 0; i < list.wanted_count; i++) { free(list.tags[list.wanted[i]].name); }
  free(list.tags);
  free(list.wanted);
  free(books);
  free(state->pairs);
  state->pairs = NULL;
  state->pair_count = state->pair_room = 0;
}

const raw_workload raw_tag_workloads[] = {
    {"W12a", "tags_row, every tenth book of all", RAW_MILLISECONDS, prepare_books, read_every_tenth, finish_every_tenth, raw_one},
    {"W12b", "tags_row, only those books", RAW_MILLISECONDS, prepare_books, read_every_tenth, finish_every_tenth, raw_one},
    {"W12c", "tags_row, all books", RAW_MILLISECONDS, prepare_books, read_all, finish_all, raw_one},
    {"W12d", "tags_batch, 10,000 books by ID", RAW_MILLISECONDS, prepare_books, read_at_once, finish_sample, raw_one},
    {"W12e", "tags_batch, books in memory", RAW_MILLISECONDS, prepare_books, read_at_once, finish_sample, raw_one},
};
const int raw_tag_workload_count = sizeof raw_tag_workloads / sizeof raw_tag_workloads[0];
