// The words of the texts, and their composition.
#include "words.h"

#include <stdio.h>

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
// Two, three and four bytes per character.
static const char *const foreign_places[] = {
    "Łódź", "Malmö", "Zürich", "Kraków", "Besançon", "Αθήνα", "Киев", "Москва", "東京", "京都", "서울", "🌍🌙",
};
static const char *const subjects[] = {
    "history", "poetry", "science", "travel", "cooking", "music", "painting", "gardening", "fiction", "law", "medicine", "sport",
};

#define TEXT(arena, ...) text_made((arena), (size_t)snprintf((arena)->next, (size_t)((arena)->end - (arena)->next), __VA_ARGS__))

static bench_text text_made(bench_arena *arena, size_t length) {
  bench_text text = {arena->next, length};
  arena->next += length + 1;
  return text;
}

bench_text bench_author_name(bench_arena *arena, bench_random *random) {
  const char *first = first_names[bench_random_below(random, COUNT(first_names))];
  const char *last = last_names[bench_random_below(random, COUNT(last_names))];
  return TEXT(arena, "%s %s", first, last);
}

bench_text bench_author_email(bench_arena *arena, uint32_t index) { return TEXT(arena, "author.%u@books.example", index); }

bench_text bench_tag_name(bench_arena *arena, bench_random *random, uint32_t index) {
  return TEXT(arena, "%s-%u", subjects[bench_random_below(random, COUNT(subjects))], index);
}

bench_text bench_book_title(bench_arena *arena, bench_random *random, int digits, uint32_t number) {
  const char *quality = qualities[bench_random_below(random, COUNT(qualities))];
  const char *thing = things[bench_random_below(random, COUNT(things))];
  uint32_t place = bench_random_below(random, 12);
  const char *where = bench_random_below(random, 5) < 2 ? foreign_places[place] : places[place];
  return TEXT(arena, "%s %s of %s %0*u", quality, thing, where, digits, number);
}

bench_text bench_book_isbn(bench_arena *arena, uint32_t index) {
  char isbn[14];
  snprintf(isbn, sizeof isbn, "978%09u0", index % 1000000000u);
  int sum = 0;
  for (int i = 0; i < 12; i++) { sum += (isbn[i] - '0') * (i % 2 == 0 ? 1 : 3); }
  isbn[12] = (char)('0' + (10 - sum % 10) % 10);
  return TEXT(arena, "%s", isbn);
}

void bench_fill_book(bench_book *book, bench_random *random, uint32_t author_count) {
  book->price = (double)(100 + bench_random_below(random, 9900)) / 100.0;
  book->published = ((double)bench_random_below(random, 18000) - 10000.0) * 86400.0;
  book->pages = 60 + bench_random_below(random, 900);
  book->author = bench_random_below(random, author_count);
}
