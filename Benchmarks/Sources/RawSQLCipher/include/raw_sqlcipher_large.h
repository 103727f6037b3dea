// W30 in C: a library of any size, filled in batches, queried with an index on the price.
#ifndef RAW_SQLCIPHER_LARGE_H
#define RAW_SQLCIPHER_LARGE_H

#include "benchmark_large.h"

typedef struct raw_large raw_large;

/// Opens a store, or creates an empty one. Any error ends the process.
raw_large *raw_large_open(const char *path, uint32_t book_count, uint32_t cache_kib);
void raw_large_close(raw_large *large);

/// Fills the store with the given rows per transaction, and generates the texts.
void raw_large_import(raw_large *large, uint32_t batch);
/// The sum of bench_book_touch over all books, each released before the next.
uint64_t raw_large_enumerate(raw_large *large);
/// The sum of bench_book_deep and bench_pair_deep over the books with every hundredth index.
uint64_t raw_large_deep(raw_large *large);
/// The sum of bench_book_touch over some books, by key in one transaction.
uint64_t raw_large_point(raw_large *large, const uint32_t *indexes, size_t count);
/// Sets the prices of some books, one transaction each.
void raw_large_save(raw_large *large, const uint32_t *indexes, const double *prices, size_t count);
/// The number of books with a price above 50.
uint64_t raw_large_count(raw_large *large);
/// The first 1,000 books by title with more than 500 pages: bench_mix from 0 over the indexes in order, then with the sum of
/// bench_book_touch.
uint64_t raw_large_top(raw_large *large);

#endif
