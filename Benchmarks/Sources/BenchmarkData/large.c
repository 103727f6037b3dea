// The rows of a library of any size, each generated from separate random numbers.
#include "benchmark_large.h"

#include "words.h"

bench_large bench_large_make(uint32_t book_count) {
  uint32_t tags = book_count / 100;
  return (bench_large){book_count / 20 + 1, tags < 5 ? 5 : tags, book_count};
}

static bench_random random_of(uint64_t kind, uint32_t index) { return (bench_random){bench_mix(kind, index)}; }

static bench_arena arena_of(bench_large_row *row) { return (bench_arena){row->bytes, row->bytes + sizeof row->bytes}; }

void bench_large_author(const bench_large *library, uint32_t index, bench_large_row *row) {
  (void)library;
  bench_random random = random_of(1, index);
  bench_arena arena = arena_of(row);
  row->author.name = bench_author_name(&arena, &random);
  row->author.email = bench_author_email(&arena, index);
  row->author.born = 1900 + bench_random_below(&random, 100);
}

void bench_large_tag(const bench_large *library, uint32_t index, bench_large_row *row) {
  (void)library;
  bench_random random = random_of(2, index);
  bench_arena arena = arena_of(row);
  row->tag.name = bench_tag_name(&arena, &random, index);
}

// The number in the smallest library.
enum { near_authors = BENCH_LARGE_NEAR_AUTHORS, near_tags = BENCH_LARGE_NEAR_TAGS };

static uint32_t least(uint64_t one, uint64_t other) { return (uint32_t)(one < other ? one : other); }

uint32_t bench_large_authors_before(const bench_large *library, uint32_t book) {
  return least((uint64_t)book / 20 + near_authors, library->author_count);
}

uint32_t bench_large_tags_before(const bench_large *library, uint32_t book) {
  return least((uint64_t)book / 100 + near_tags, library->tag_count);
}

/// A random one from a row's position on, wrapping around at the end.
static uint32_t near(bench_random *random, uint32_t place, uint32_t window, uint32_t count) {
  return (place + bench_random_below(random, window < count ? window : count)) % count;
}

void bench_large_book(const bench_large *library, uint32_t index, bench_large_row *row) {
  bench_random random = random_of(3, index);
  bench_arena arena = arena_of(row);
  // 61843 and 100000000 are coprime, so the numbers are distinct and do not increase with the index.
  row->book.title = bench_book_title(&arena, &random, 8, (uint32_t)((uint64_t)index * 61843 % 100000000));
  row->book.isbn = bench_book_isbn(&arena, index);
  bench_fill_book(&row->book, &random, 1);
  row->book.author = near(&random, index / 20, near_authors, library->author_count);
  row->book.pair_count = 1 + bench_random_below(&random, 5);
  for (uint32_t i = 0; i < row->book.pair_count; i++) {
    uint32_t before;
    do {
      row->tags[i] = near(&random, index / 100, near_tags, library->tag_count);
      for (before = 0; before < i && row->tags[before] != row->tags[i]; before++) {}
    } while (before < i);
  }
}
