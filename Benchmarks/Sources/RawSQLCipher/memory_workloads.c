// W16 to W18: properties, heap and release of fetched rows.
#include "raw_internal.h"

enum { reads = 10 }; // the number of W16a's passes over all books

static void fetch(raw_state *state) {
  raw_need_base(state);
  raw_fetch_books(state->select_all, &state->books);
}

// W16a: repeated reads of one property. The bits are added, so that the order does not matter.
static void w16a_run(raw_state *state) {
  uint64_t sum = 0;
  for (int round = 0; round < reads; round++) {
    for (size_t i = 0; i < state->books.count; i++) { sum += bench_double_bits(state->books.rows[i].price); }
    __asm__ volatile("" : "+r"(sum) : : "memory"); // keeps the optimizer from replacing ten passes by a multiplication
  }
  state->touched = sum;
}

static double w16a_operations(const raw_state *state) { return (double)state->data->book_count * reads; }

// W16b: the first write of each row; W16c: the next one.
static void w16b_run(raw_state *state) {
  for (size_t i = 0; i < state->books.count; i++) { state->books.rows[i].pages = (int64_t)i; }
}

static void w16c_prepare(raw_state *state) {
  fetch(state);
  w16b_run(state);
}

static void w16c_run(raw_state *state) {
  for (size_t i = 0; i < state->books.count; i++) { state->books.rows[i].pages = (int64_t)i + 1; }
}

// W16d: reads after a write: the original value and another one alternately.
static void w16d_run(raw_state *state) {
  uint64_t sum = 0;
  for (int round = 0; round < reads; round++) {
    if (round % 2 == 0) {
      for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->books.rows[i].pages; }
    } else {
      for (size_t i = 0; i < state->books.count; i++) { sum += bench_double_bits(state->books.rows[i].price); }
    }
    __asm__ volatile("" : "+r"(sum) : : "memory");
  }
  state->touched = sum;
}

static uint64_t finish_pages(raw_state *state) {
  uint64_t sum = 0;
  for (size_t i = 0; i < state->books.count; i++) { sum += (uint64_t)state->books.rows[i].pages; }
  raw_free_books(&state->books);
  return sum;
}

static uint64_t finish_touched(raw_state *state) {
  raw_free_books(&state->books);
  return state->touched;
}

// W17: the growth of the heap.
static void w17_prepare(raw_state *state) { // the pages and the statement's own memory are allocated before
  fetch(state);
  raw_free_books(&state->books);
}

static void w17_run(raw_state *state) { raw_fetch_books(state->select_all, &state->books); }

static uint64_t finish_deep(raw_state *state) {
  uint64_t sum = raw_deep_books(&state->books);
  raw_free_books(&state->books);
  return sum;
}

// W18: free everything.
static void w18_run(raw_state *state) {
  state->touched = state->books.count;
  raw_free_books(&state->books);
}

const raw_workload raw_memory_workloads[] = {
    {"W16a", "property read, hot", RAW_NANOSECONDS_EACH, fetch, w16a_run, finish_touched, w16a_operations},
    {"W16b", "property write, first", RAW_NANOSECONDS_EACH, fetch, w16b_run, finish_pages, raw_book_count},
    {"W16c", "property write, next", RAW_NANOSECONDS_EACH, w16c_prepare, w16c_run, finish_pages, raw_book_count},
    {"W16d", "property read after a write", RAW_NANOSECONDS_EACH, w16c_prepare, w16d_run, finish_touched, w16a_operations},
    {"W17", "heap per fetched book", RAW_BYTES_EACH, w17_prepare, w17_run, finish_deep, raw_book_count},
    {"W18", "release", RAW_MILLISECONDS, fetch, w18_run, finish_touched, raw_one},
};
const int raw_memory_workload_count = sizeof raw_memory_workloads / sizeof raw_memory_workloads[0];
