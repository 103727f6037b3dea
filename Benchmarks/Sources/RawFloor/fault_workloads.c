// W9 to W12: rows by key and along relationships.
#include <stdlib.h>

#include "floor_internal.h"

enum { hops = 10 }; // W11 goes over all books so many times

static void take_sample(floor_state *state, uint64_t seed) {
  free(state->sample);
  state->sample_count = state->data->book_count / 10;
  state->sample = bench_sample_books(state->data, seed, state->sample_count);
}

static void warm_up(floor_state *state) {
  floor_need_base(state);
  floor_library_checksum(state->base, state->data);
}

// W9: one book in ten by its key, inside one read transaction.
static void w9_prepare(floor_state *state) {
  warm_up(state);
  take_sample(state, 9);
}

static void w9_run(floor_state *state) {
  floor_books *books = &state->books;
  books->room = state->sample_count;
  books->rows = floor_grown(NULL, books->room * sizeof *books->rows);
  floor_execute(state->base, "BEGIN");
  for (size_t i = 0; i < state->sample_count; i++) {
    sqlite3_bind_int64(state->select_book, 1, (int64_t)state->sample[i] + 1);
    if (sqlite3_step(state->select_book) != SQLITE_ROW) { floor_fail(state->base, "book"); }
    floor_read_book(state->select_book, &books->rows[books->count++]);
    sqlite3_reset(state->select_book);
  }
  floor_execute(state->base, "COMMIT");
  state->touched = floor_touch_books(books);
}

static uint64_t w9_finish(floor_state *state) {
  uint64_t sum = bench_mix(state->touched, floor_deep_books(&state->books));
  floor_free_books(&state->books);
  return sum;
}

// W10: each book's author, each author read once, when first met.
static void w10_prepare(floor_state *state) {
  warm_up(state);
  floor_fetch_books(state->select_all, &state->books);
  state->authors = calloc(state->data->author_count + 1, sizeof *state->authors);
}

static void w10_run(floor_state *state) {
  uint64_t sum = 0;
  floor_execute(state->base, "BEGIN");
  for (size_t i = 0; i < state->books.count; i++) {
    int64_t id = state->books.rows[i].author;
    floor_author *author = state->authors[id];
    if (author == NULL) {
      author = floor_fetch_author(state->select_author, id);
      state->authors[id] = author;
    }
    sum += (uint64_t)author->born;
  }
  floor_execute(state->base, "COMMIT");
  state->touched = sum;
}

static uint64_t w10_finish(floor_state *state) {
  uint64_t sum = state->touched;
  for (size_t id = 1; id <= state->data->author_count; id++) {
    floor_author *author = state->authors[id];
    if (author == NULL) { continue; }
    sum += bench_author_deep(author->name, author->name_length, author->email, author->email_length, author->born);
  }
  floor_free_authors(state);
  floor_free_books(&state->books);
  return sum;
}

// W11: the same with the references set.
static void w11_prepare(floor_state *state) {
  w10_prepare(state);
  w10_run(state);
  for (size_t i = 0; i < state->books.count; i++) {
    state->books.rows[i].author_reference = state->authors[state->books.rows[i].author];
  }
}

static void w11_run(floor_state *state) {
  uint64_t sum = 0;
  for (int hop = 0; hop < hops; hop++) {
    for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->books.rows[i].author_reference->born; }
    __asm__ volatile("" : "+r"(sum) : : "memory"); // ten rounds, not one multiplied by ten
  }
  state->touched = sum;
}

static uint64_t w11_finish(floor_state *state) {
  uint64_t sum = state->touched;
  floor_free_authors(state);
  floor_free_books(&state->books);
  return sum;
}

static double w11_operations(const floor_state *state) { return (double)state->data->book_count * hops; }

// W12: the tags of one book in ten, a query a book.
static void w12_prepare(floor_state *state) {
  warm_up(state);
  take_sample(state, 12);
}

static void w12_run(floor_state *state) {
  floor_execute(state->base, "BEGIN");
  uint64_t sum = 0;
  for (size_t i = 0; i < state->sample_count; i++) {
    sqlite3_bind_int64(state->select_tags, 1, (int64_t)state->sample[i] + 1);
    while (sqlite3_step(state->select_tags) == SQLITE_ROW) {
      if (state->tag_count == state->tag_room) {
        state->tag_room = state->tag_room == 0 ? 1024 : state->tag_room * 2;
        state->tags = floor_grown(state->tags, state->tag_room * sizeof *state->tags);
      }
      floor_tag *tag = &state->tags[state->tag_count++];
      tag->id = sqlite3_column_int64(state->select_tags, 0);
      tag->name = floor_copied_text(state->select_tags, 1, &tag->name_length);
      sum += tag->name_length;
    }
    sqlite3_reset(state->select_tags);
  }
  floor_execute(state->base, "COMMIT");
  state->touched = sum;
}

static uint64_t w12_finish(floor_state *state) {
  uint64_t sum = bench_mix(state->touched, state->tag_count);
  for (size_t i = 0; i < state->tag_count; i++) {
    sum += bench_tag_deep(state->tags[i].name, state->tags[i].name_length);
    free(state->tags[i].name);
  }
  free(state->tags);
  state->tags = NULL;
  state->tag_count = state->tag_room = 0;
  return sum;
}

const floor_workload floor_fault_workloads[] = {
    {"W9", "point", FLOOR_MILLISECONDS, w9_prepare, w9_run, w9_finish, floor_one},
    {"W10", "traverse_lazy", FLOOR_MILLISECONDS, w10_prepare, w10_run, w10_finish, floor_one},
    {"W11", "traverse_warm", FLOOR_NANOSECONDS_EACH, w11_prepare, w11_run, w11_finish, w11_operations},
    {"W12", "tags_row", FLOOR_MILLISECONDS, w12_prepare, w12_run, w12_finish, floor_one},
};
const int floor_fault_workload_count = sizeof floor_fault_workloads / sizeof floor_fault_workloads[0];
