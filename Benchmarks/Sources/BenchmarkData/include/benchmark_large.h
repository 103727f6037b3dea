// A library of any size, whose rows are made one by one from their index, so that nothing of it is held.
#ifndef BENCHMARK_LARGE_H
#define BENCHMARK_LARGE_H

#include "benchmark_data.h"

/// How much there is of everything: for each 100 books 5 authors and a tag.
typedef struct bench_large {
  uint32_t author_count, tag_count, book_count;
} bench_large;

/// A row and the characters of its texts. The texts of `author`, `tag` and `book` point into it: it must not be moved while they are read.
typedef struct bench_large_row {
  bench_author author;
  bench_tag tag;
  bench_book book;  // `first_pair` means nothing
  uint32_t tags[5]; // the book's, `book.pair_count` different ones
  char bytes[256];
} bench_large_row;

/// From how many authors, and from how many tags, a book's are drawn.
enum { BENCH_LARGE_NEAR_AUTHORS = 5000, BENCH_LARGE_NEAR_TAGS = 1000 };

bench_large bench_large_make(uint32_t book_count);
void bench_large_author(const bench_large *library, uint32_t index, bench_large_row *row);
void bench_large_tag(const bench_large *library, uint32_t index, bench_large_row *row);
/// Titles and ISBNs differ up to 100,000,000 books. Authors and tags are drawn from 5,000 and 1,000 near the book, at every size: drawn from all, their
/// indexes would not fit into the cache of pages, and an import would do little else than decrypt. Behind the last ones come the first.
void bench_large_book(const bench_large *library, uint32_t index, bench_large_row *row);

/// How many authors, and how many tags, must be there before a book: an import that makes them no sooner has to know no more than those near the book.
uint32_t bench_large_authors_before(const bench_large *library, uint32_t book);
uint32_t bench_large_tags_before(const bench_large *library, uint32_t book);

#endif
