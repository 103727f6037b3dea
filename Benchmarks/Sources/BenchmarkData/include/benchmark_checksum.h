// The checksums on which both sides must agree. Rows are added, so the order of fetching does not matter unless a workload says so.
#ifndef BENCHMARK_CHECKSUM_H
#define BENCHMARK_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bench_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

static inline uint64_t bench_double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline uint64_t bench_mix_double(uint64_t hash, double value) { return bench_mix(hash, bench_double_bits(value)); }

static inline uint64_t bench_mix_text(uint64_t hash, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) { hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001B3u; }
  return bench_mix(hash, length);
}

/// In the measured part: a cheap proof that every property of a book was read (texts by their length in UTF-8 bytes).
static inline uint64_t bench_book_touch(
    size_t title_length, size_t isbn_length, double price, double published, int64_t pages, int has_author) {
  uint64_t hash = bench_mix(0, (uint64_t)pages);
  hash = bench_mix_double(hash, price);
  hash = bench_mix_double(hash, published);
  return bench_mix(hash, (uint64_t)title_length * 64 + (uint64_t)isbn_length * 2 + (has_author ? 1 : 0));
}

/// Outside of the measured part: every byte of a book, and its author by the index in the data.
static inline uint64_t bench_book_deep(
    const char *title, size_t title_length, const char *isbn, size_t isbn_length, double price, double published, int64_t pages,
    uint32_t author) {
  uint64_t hash = bench_mix_text(1, title, title_length);
  hash = bench_mix_text(hash, isbn, isbn_length);
  hash = bench_mix_double(hash, price);
  hash = bench_mix_double(hash, published);
  return bench_mix(bench_mix(hash, (uint64_t)pages), author);
}

static inline uint64_t bench_author_deep(
    const char *name, size_t name_length, const char *email, size_t email_length, int64_t born) {
  return bench_mix(bench_mix_text(bench_mix_text(2, name, name_length), email, email_length), (uint64_t)born);
}

static inline uint64_t bench_tag_deep(const char *name, size_t length) { return bench_mix_text(3, name, length); }

/// A pair of a book (by index) and a tag (by name).
static inline uint64_t bench_pair_deep(uint32_t book, const char *tag, size_t length) { return bench_mix_text(book, tag, length); }

#endif
