// A library of any size, whose rows are generated one by one from their index, so that none are held.
#ifndef BENCHMARK_LARGE_H
#define BENCHMARK_LARGE_H

#include "benchmark_data.h"

/// The numbers of objects: 5 authors and a tag per 100 books.
typedef struct bench_large {
  uint32_t author_count, tag_count, book_count;
} bench_large;

/// A row and the characters of its texts. The texts of `author`, `tag` and `book` point into it, so it must not move while they are in use.
typedef struct bench_large_row {
  bench_author author;
  bench_tag tag;
  bench_book book;  // `first_pair` is unused
  uint32_t tags[5]; // the book's tags, `book.pair_count` different ones
  char bytes[256];
} bench_large_row;

/// The numbers of authors and of tags from which a book's are drawn.
enum { BENCH_LARGE_NEAR_AUTHORS = 5000, BENCH_LARGE_NEAR_TAGS = 1000 };

bench_large bench_large_make(uint32_t book_count);
void bench_large_author(const bench_large *library, uint32_t index, bench_large_row *row);
void bench_large_tag(const bench_large *library, uint32_t index, bench_large_row *row);
/// Titles and ISBNs are unique up to 100,000,000 books. Authors and tags are drawn from 5,000 and 1,000 near the book, at every size. If
/// drawn from all, their indexes would not fit into the page cache, and an import would mostly decrypt pages. The first ones follow the
/// last ones.
void bench_large_book(const bench_large *library, uint32_t index, bench_large_row *row);

/// The numbers of authors and of tags that must exist before a book. An import that creates them no earlier only needs those near the book.
uint32_t bench_large_authors_before(const bench_large *library, uint32_t book);
uint32_t bench_large_tags_before(const bench_large *library, uint32_t book);

#endif
