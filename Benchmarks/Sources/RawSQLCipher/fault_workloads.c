// W9 to W11: rows by key, and from each book to its author.
#include <stdlib.h>

#include "raw_internal.h"

enum { hops = 10 }; // the number of W11's passes over all books

// W9: one book in ten by its key, in one read transaction, each released before the next.
static void w9_prepare(raw_state *state) {
  raw_warm_up(state);
  raw_take_sample(state, 9);
}

static void read_point(raw_state *state, uint32_t index, raw_book *book) {
  sqlite3_bind_int64(state->select_book, 1, (int64_t)index + 1);
  if (sqlite3_step(state->select_book) != SQLITE_ROW) { raw_fail(state->base, "book"); }
  raw_read_book(state->select_book, book);
  sqlite3_reset(state->select_book);
}

static uint64_t each_point(raw_state *state, uint64_t (*sum_of)(const raw_books *books)) {
  uint64_t sum = 0;
  raw_book book;
  const raw_books one = {&book, 1, 1};
  raw_execute(state->base, "BEGIN");
  for (size_t i = 0; i < state->sample_count; i++) {
    read_point(state, state->sample[i], &book);
    sum += sum_of(&one);
    free(book.title);
    free(book.isbn);
  }
  raw_execute(state->base, "COMMIT");
  return sum;
}

static void w9_run(raw_state *state) { state->touched = each_point(state, raw_touch_books); }

static uint64_t w9_finish(raw_state *state) { return bench_mix(state->touched, each_point(state, raw_deep_books)); }

// W10: each book's author; each author is read once, on first use.
static void w10_prepare(raw_state *state) {
  raw_warm_up(state);
  raw_fetch_books(state->select_all, &state->books);
  state->authors = calloc(state->data->author_count + 1, sizeof *state->authors);
}

static void hop(raw_state *state) {
  uint64_t sum = 0;
  raw_execute(state->base, "BEGIN");
  for (size_t i = 0; i < state->books.count; i++) {
    int64_t id = state->books.rows[i].author;
    raw_author *author = state->authors[id];
    if (author == NULL) {
      author = raw_fetch_author(state->select_author, id);
      state->authors[id] = author;
    }
    sum += (uint64_t)author->born;
  }
  raw_execute(state->base, "COMMIT");
  state->touched = sum;
}

static uint64_t finish_touched(raw_state *state) {
  raw_free_authors(state);
  raw_free_books(&state->books);
  return state->touched;
}

// W10a: the authors are released at the end.
static void w10a_run(raw_state *state) {
  hop(state);
  raw_free_authors(state);
}

// W10b: the authors are kept.
static uint64_t w10b_finish(raw_state *state) {
  for (size_t id = 1; id <= state->data->author_count; id++) {
    raw_author *author = state->authors[id];
    if (author == NULL) { continue; }
    state->touched += bench_author_deep(author->name, author->name_length, author->email, author->email_length, author->born);
  }
  return finish_touched(state);
}

// W10c: the authors are fetched first, by one query.
static void w10c_run(raw_state *state) {
  raw_fetch_authors(state);
  uint64_t sum = 0;
  for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->authors[state->books.rows[i].author]->born; }
  state->touched = sum;
}

// W11: the same with the references set.
static void w11_prepare(raw_state *state) {
  w10_prepare(state);
  hop(state);
  for (size_t i = 0; i < state->books.count; i++) {
    state->books.rows[i].author_reference = state->authors[state->books.rows[i].author];
  }
}

static void w11_run(raw_state *state) {
  uint64_t sum = 0;
  for (int pass = 0; pass < hops; pass++) {
    for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->books.rows[i].author_reference->born; }
    __asm__ volatile("" : "+r"(sum) : : "memory"); // keeps the optimizer from replacing ten passes by a multiplication
  }
  state->touched = sum;
}

static double w11_operations(const raw_state *state) { return (double)state->data->book_count * hops; }

const raw_workload raw_fault_workloads[] = {
    {"W9a", "point, in a block", RAW_MILLISECONDS, w9_prepare, w9_run, w9_finish, raw_one},
    {"W9b", "point, without a block", RAW_MILLISECONDS, w9_prepare, w9_run, w9_finish, raw_one},
    {"W10a", "traverse_lazy, released", RAW_MILLISECONDS, w10_prepare, w10a_run, finish_touched, raw_one},
    {"W10b", "traverse_lazy, retained", RAW_MILLISECONDS, w10_prepare, hop, w10b_finish, raw_one},
    {"W10c", "traverse_bulk", RAW_MILLISECONDS, w10_prepare, w10c_run, finish_touched, raw_one},
    {"W11", "hop in memory", RAW_NANOSECONDS_EACH, w11_prepare, w11_run, finish_touched, w11_operations},
};
const int raw_fault_workload_count = sizeof raw_fault_workloads / sizeof raw_fault_workloads[0];
