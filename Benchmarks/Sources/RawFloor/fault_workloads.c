// W9 to W11: rows by key, and from each book to its author.
#include <stdlib.h>

#include "floor_internal.h"

enum { hops = 10 }; // the number of W11's passes over all books

// W9: one book in ten by its key, in one read transaction, each released before the next.
static void w9_prepare(floor_state *state) {
  floor_warm_up(state);
  floor_take_sample(state, 9);
}

static void read_point(floor_state *state, uint32_t index, floor_book *book) {
  sqlite3_bind_int64(state->select_book, 1, (int64_t)index + 1);
  if (sqlite3_step(state->select_book) != SQLITE_ROW) { floor_fail(state->base, "book"); }
  floor_read_book(state->select_book, book);
  sqlite3_reset(state->select_book);
}

static uint64_t each_point(floor_state *state, uint64_t (*sum_of)(const floor_books *books)) {
  uint64_t sum = 0;
  floor_book book;
  const floor_books one = {&book, 1, 1};
  floor_execute(state->base, "BEGIN");
  for (size_t i = 0; i < state->sample_count; i++) {
    read_point(state, state->sample[i], &book);
    sum += sum_of(&one);
    free(book.title);
    free(book.isbn);
  }
  floor_execute(state->base, "COMMIT");
  return sum;
}

static void w9_run(floor_state *state) { state->touched = each_point(state, floor_touch_books); }

static uint64_t w9_finish(floor_state *state) { return bench_mix(state->touched, each_point(state, floor_deep_books)); }

// W10: each book's author; each author is read once, on first use.
static void w10_prepare(floor_state *state) {
  floor_warm_up(state);
  floor_fetch_books(state->select_all, &state->books);
  state->authors = calloc(state->data->author_count + 1, sizeof *state->authors);
}

static void hop(floor_state *state) {
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

static uint64_t finish_touched(floor_state *state) {
  floor_free_authors(state);
  floor_free_books(&state->books);
  return state->touched;
}

// W10a: the authors are released at the end.
static void w10a_run(floor_state *state) {
  hop(state);
  floor_free_authors(state);
}

// W10b: the authors are kept.
static uint64_t w10b_finish(floor_state *state) {
  for (size_t id = 1; id <= state->data->author_count; id++) {
    floor_author *author = state->authors[id];
    if (author == NULL) { continue; }
    state->touched += bench_author_deep(author->name, author->name_length, author->email, author->email_length, author->born);
  }
  return finish_touched(state);
}

// W10c: the authors are fetched first, by one query.
static void w10c_run(floor_state *state) {
  floor_fetch_authors(state);
  uint64_t sum = 0;
  for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->authors[state->books.rows[i].author]->born; }
  state->touched = sum;
}

// W11: the same with the references set.
static void w11_prepare(floor_state *state) {
  w10_prepare(state);
  hop(state);
  for (size_t i = 0; i < state->books.count; i++) {
    state->books.rows[i].author_reference = state->authors[state->books.rows[i].author];
  }
}

static void w11_run(floor_state *state) {
  uint64_t sum = 0;
  for (int pass = 0; pass < hops; pass++) {
    for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->books.rows[i].author_reference->born; }
    __asm__ volatile("" : "+r"(sum) : : "memory"); // keeps the optimizer from replacing ten passes by a multiplication
  }
  state->touched = sum;
}

static double w11_operations(const floor_state *state) { return (double)state->data->book_count * hops; }

const floor_workload floor_fault_workloads[] = {
    {"W9a", "point, in a block", FLOOR_MILLISECONDS, w9_prepare, w9_run, w9_finish, floor_one},
    {"W9b", "point, without a block", FLOOR_MILLISECONDS, w9_prepare, w9_run, w9_finish, floor_one},
    {"W10a", "traverse_lazy, released", FLOOR_MILLISECONDS, w10_prepare, w10a_run, finish_touched, floor_one},
    {"W10b", "traverse_lazy, retained", FLOOR_MILLISECONDS, w10_prepare, hop, w10b_finish, floor_one},
    {"W10c", "traverse_bulk", FLOOR_MILLISECONDS, w10_prepare, w10c_run, finish_touched, floor_one},
    {"W11", "hop in memory", FLOOR_NANOSECONDS_EACH, w11_prepare, w11_run, finish_touched, w11_operations},
};
const int floor_fault_workload_count = sizeof floor_fault_workloads / sizeof floor_fault_workloads[0];
