// Makes the benchmark's data from fixed word lists and fixed seeds.
#include "benchmark_data.h"

#include <stdlib.h>

#include "words.h"

/// The number of tags of each book: 1 to 5 at random, then adjusted in steps of one until the sum is `total`.
static void share_out_pairs(bench_book *books, size_t count, size_t total) {
  bench_random random = {4};
  size_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    books[i].pair_count = 1 + bench_random_below(&random, 5);
    sum += books[i].pair_count;
  }
  for (size_t i = 0; sum != total; i = (i + 1) % count) {
    if (sum > total && books[i].pair_count > 1) {
      books[i].pair_count--;
      sum--;
    } else if (sum < total && books[i].pair_count < 5) {
      books[i].pair_count++;
      sum++;
    }
  }
}

static void fill_pairs(bench_book *books, size_t book_count, bench_pair *pairs, uint32_t tag_count) {
  bench_random random = {5};
  uint32_t next = 0;
  for (uint32_t book = 0; book < book_count; book++) {
    books[book].first_pair = next;
    for (uint32_t i = 0; i < books[book].pair_count; i++) {
      uint32_t tag, before = 0;
      do {
        tag = bench_random_below(&random, tag_count);
        for (before = 0; before < i && pairs[next - i + before].tag != tag; before++) {}
      } while (before < i);
      pairs[next++] = (bench_pair){book, tag};
    }
  }
}

bench_data *bench_data_make(uint32_t divisor) {
  bench_data *data = calloc(1, sizeof *data);
  data->author_count = 5000 / divisor;
  data->tag_count = 1000 / divisor;
  data->book_count = 100000 / divisor;
  data->pair_count = 300120 / divisor;
  size_t room = data->author_count * 96 + data->tag_count * 32 + data->book_count * 96;
  data->storage = malloc(room);
  bench_arena arena = {data->storage, data->storage + room};

  bench_author *authors = calloc(data->author_count, sizeof *authors);
  bench_random random = {1};
  for (uint32_t i = 0; i < data->author_count; i++) {
    authors[i].name = bench_author_name(&arena, &random);
    authors[i].email = bench_author_email(&arena, i);
    authors[i].born = 1900 + bench_random_below(&random, 100);
  }

  bench_tag *tags = calloc(data->tag_count, sizeof *tags);
  random.state = 2;
  for (uint32_t i = 0; i < data->tag_count; i++) { tags[i].name = bench_tag_name(&arena, &random, i); }

  bench_book *books = calloc(data->book_count, sizeof *books);
  random.state = 3;
  for (uint32_t i = 0; i < data->book_count; i++) {
    // 61843 and 100000 are coprime, so the numbers are distinct and do not increase with the index.
    books[i].title = bench_book_title(&arena, &random, 5, (uint32_t)((uint64_t)i * 61843 % 100000));
    books[i].isbn = bench_book_isbn(&arena, i);
    bench_fill_book(&books[i], &random, (uint32_t)data->author_count);
  }
  share_out_pairs(books, data->book_count, data->pair_count);
  bench_pair *pairs = calloc(data->pair_count, sizeof *pairs);
  fill_pairs(books, data->book_count, pairs, (uint32_t)data->tag_count);

  data->authors = authors;
  data->tags = tags;
  data->books = books;
  data->pairs = pairs;
  return data;
}

void bench_data_free(bench_data *data) {
  if (data == NULL) { return; }
  free((void *)data->authors);
  free((void *)data->tags);
  free((void *)data->books);
  free((void *)data->pairs);
  free(data->storage);
  free(data);
}

uint32_t *bench_sample_books(const bench_data *data, uint64_t seed, size_t count) { return bench_sample(data->book_count, seed, count); }

uint32_t *bench_sample(size_t all, uint64_t seed, size_t count) {
  uint32_t *order = malloc(all * sizeof *order);
  for (uint32_t i = 0; i < all; i++) { order[i] = i; }
  bench_random random = {seed};
  for (uint32_t i = 0; i < count; i++) { // the first steps of a shuffle
    uint32_t other = i + bench_random_below(&random, (uint32_t)all - i);
    uint32_t swap = order[i];
    order[i] = order[other];
    order[other] = swap;
  }
  return order;
}
