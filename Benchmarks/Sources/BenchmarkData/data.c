// Makes the benchmark's data from fixed word lists and fixed seeds.
#include "benchmark_data.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof((list)[0])))

static const char *const first_names[] = {
    "Ada",   "Bruno", "Clara", "Dmitri", "Elif",  "Farid", "Greta", "Hugo",  "Ines",  "Jonas", "Kaja",   "Liam",
    "Mara",  "Nils",  "Olga",  "Pablo",  "Quinn", "Rosa",  "Søren", "Tomás", "Ursel", "Vera",  "Wiebke", "Zoë",
};
static const char *const last_names[] = {
    "Abbott", "Berger", "Castro", "Dahl",  "Eriksen", "Fischer", "García", "Hansen", "Ivanova", "Jensen", "Kowalski", "Lindqvist",
    "Müller", "Novák",  "Okafor", "Petit", "Quist",   "Rossi",   "Sato",   "Tanaka", "Urban",   "Vogel",  "Weiß",     "Zhang",
};
static const char *const qualities[] = {
    "Quiet",  "Golden", "Hidden", "Broken", "Silent", "Distant", "Winter", "Burning", "Endless", "Ancient", "Secret", "Bitter",
    "Gentle", "Hollow", "Narrow", "Simple", "Stolen", "Velvet",  "Wooden", "Yellow",  "Crooked", "Frozen",  "Lonely", "Modern",
};
static const char *const things[] = {
    "Harbour", "Garden", "Letter", "Mirror", "Island", "Window", "River", "Forest", "Castle", "Engine", "Voyage", "Market",
    "Orchard", "Bridge", "Archive", "Lantern", "Meadow", "Clock",  "Tower", "Shadow", "Pilot",  "Winter", "Valley", "Machine",
};
static const char *const places[] = {
    "Oslo", "Lisbon", "Dublin", "Vienna", "Prague", "Riga", "Turin", "Ghent", "Cork", "Leeds", "Basel", "Genoa",
};
// Two, three and four bytes a character.
static const char *const foreign_places[] = {
    "Łódź", "Malmö", "Zürich", "Kraków", "Besançon", "Αθήνα", "Киев", "Москва", "東京", "京都", "서울", "🌍🌙",
};
static const char *const subjects[] = {
    "history", "poetry", "science", "travel", "cooking", "music", "painting", "gardening", "fiction", "law", "medicine", "sport",
};

/// Hands out zero-terminated pieces of one block.
typedef struct arena {
  char *next, *end;
} arena;

#define TEXT(arena, ...) text_made((arena), (size_t)snprintf((arena)->next, (size_t)((arena)->end - (arena)->next), __VA_ARGS__))

static bench_text text_made(arena *arena, size_t length) {
  bench_text text = {arena->next, length};
  arena->next += length + 1;
  return text;
}

static void make_isbn(uint32_t index, char out[14]) {
  snprintf(out, 14, "978%09u0", index % 1000000000u);
  int sum = 0;
  for (int i = 0; i < 12; i++) { sum += (out[i] - '0') * (i % 2 == 0 ? 1 : 3); }
  out[12] = (char)('0' + (10 - sum % 10) % 10);
}

/// How many tags each book has: 1 to 5 at random, then put right by ones until the sum is `total`.
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
  arena arena = {data->storage, data->storage + room};

  bench_author *authors = calloc(data->author_count, sizeof *authors);
  bench_random random = {1};
  for (uint32_t i = 0; i < data->author_count; i++) {
    const char *first = first_names[bench_random_below(&random, COUNT(first_names))];
    const char *last = last_names[bench_random_below(&random, COUNT(last_names))];
    authors[i].name = TEXT(&arena, "%s %s", first, last);
    authors[i].email = TEXT(&arena, "author.%u@books.example", i);
    authors[i].born = 1900 + bench_random_below(&random, 100);
  }

  bench_tag *tags = calloc(data->tag_count, sizeof *tags);
  random.state = 2;
  for (uint32_t i = 0; i < data->tag_count; i++) {
    tags[i].name = TEXT(&arena, "%s-%u", subjects[bench_random_below(&random, COUNT(subjects))], i);
  }

  bench_book *books = calloc(data->book_count, sizeof *books);
  random.state = 3;
  for (uint32_t i = 0; i < data->book_count; i++) {
    const char *quality = qualities[bench_random_below(&random, COUNT(qualities))];
    const char *thing = things[bench_random_below(&random, COUNT(things))];
    uint32_t place = bench_random_below(&random, 12);
    const char *where = bench_random_below(&random, 5) < 2 ? foreign_places[place] : places[place];
    // 61843 and 100000 have no common factor, so the numbers differ and do not rise with the index.
    books[i].title = TEXT(&arena, "%s %s of %s %05u", quality, thing, where, (uint32_t)((uint64_t)i * 61843 % 100000));
    char isbn[14];
    make_isbn(i, isbn);
    books[i].isbn = TEXT(&arena, "%s", isbn);
    books[i].price = (double)(100 + bench_random_below(&random, 9900)) / 100.0;
    books[i].published = ((double)bench_random_below(&random, 18000) - 10000.0) * 86400.0;
    books[i].pages = 60 + bench_random_below(&random, 900);
    books[i].author = bench_random_below(&random, (uint32_t)data->author_count);
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

uint32_t *bench_sample_books(const bench_data *data, uint64_t seed, size_t count) {
  size_t all = data->book_count;
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
