// The benchmark's data. One generator makes the same bytes for the C baseline and for Swift.
#ifndef BENCHMARK_DATA_H
#define BENCHMARK_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "benchmark_checksum.h"
#include "benchmark_machine.h"
#include "benchmark_random.h"

/// A text: UTF-8 with a terminating zero byte that `length` does not count. It lives as long as the data.
typedef struct bench_text {
  const char *bytes;
  size_t length;
} bench_text;

typedef struct bench_author {
  bench_text name;
  bench_text email; // unique: ends in the author's index
  int64_t born;     // a year
} bench_author;

typedef struct bench_tag {
  bench_text name; // unique
} bench_tag;

typedef struct bench_book {
  bench_text title; // about 28 bytes, two in five not ASCII, unique up to 100,000 books
  bench_text isbn;  // 13 digits that contain the book's index, see bench_isbn_index
  double price;     // 1.00 to 99.99 in whole cents
  double published; // seconds since 2001-01-01, whole days
  int64_t pages;
  uint32_t author;     // index into authors
  uint32_t first_pair; // the book's tags: pairs[first_pair ..< first_pair + pair_count]
  uint32_t pair_count; // 1 to 5
} bench_book;

/// A book's tag, both as indexes.
typedef struct bench_pair {
  uint32_t book;
  uint32_t tag;
} bench_pair;

typedef struct bench_data {
  size_t author_count, tag_count, book_count, pair_count;
  const bench_author *authors;
  const bench_tag *tags;
  const bench_book *books;
  const bench_pair *pairs; // by book; tags are distinct within a book
  char *storage;           // the storage of the texts
} bench_data;

/// The data at full scale divided by `divisor` (1 = 5,000 authors, 1,000 tags, 100,000 books, 300,120 pairs). Free with bench_data_free.
bench_data *bench_data_make(uint32_t divisor);
void bench_data_free(bench_data *data);

/// Returns `count` different book indexes (count <= book_count) in an order that depends on `seed` only; the caller frees them.
uint32_t *bench_sample_books(const bench_data *data, uint64_t seed, size_t count);
/// The same for `all` books.
uint32_t *bench_sample(size_t all, uint64_t seed, size_t count);

/// The index in a generated ISBN.
static inline uint32_t bench_isbn_index(const char *isbn) {
  uint32_t index = 0;
  for (int i = 3; i < 12; i++) { index = index * 10 + (uint32_t)(isbn[i] - '0'); }
  return index;
}

/// The price that the update workloads set: one cent more than before, one pound more for a book with an even index.
static inline double bench_new_price(double price, uint32_t index) { return price + (index % 2 == 0 ? 1.0 : 0.01); }

#endif
