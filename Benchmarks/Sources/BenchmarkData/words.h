// Texts made of fixed words.
#ifndef BENCHMARK_WORDS_H
#define BENCHMARK_WORDS_H

#include "benchmark_data.h"

/// Returns zero-terminated pieces of one block.
typedef struct bench_arena {
  char *next, *end;
} bench_arena;

bench_text bench_author_name(bench_arena *arena, bench_random *random);
bench_text bench_author_email(bench_arena *arena, uint32_t index);
bench_text bench_tag_name(bench_arena *arena, bench_random *random, uint32_t index);
/// A title that ends in a number with the given digits.
bench_text bench_book_title(bench_arena *arena, bench_random *random, int digits, uint32_t number);
bench_text bench_book_isbn(bench_arena *arena, uint32_t index);
/// The book's numbers, and its author among the given count.
void bench_fill_book(bench_book *book, bench_random *random, uint32_t author_count);

#endif
