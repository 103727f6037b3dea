// Rows as C structs that own their strings.
#include <stdlib.h>
#include <string.h>

#include "raw_internal.h"

char *raw_copied_text(sqlite3_stmt *statement, int column, uint32_t *length) {
  const unsigned char *bytes = sqlite3_column_text(statement, column);
  uint32_t count = (uint32_t)sqlite3_column_bytes(statement, column);
  char *copy = malloc(count + 1);
  if (copy == NULL) { raw_fail(NULL, "no memory"); }
  memcpy(copy, bytes, count);
  copy[count] = 0;
  *length = count;
  return copy;
}

void raw_read_book(sqlite3_stmt *statement, raw_book *book) {
  book->id = sqlite3_column_int64(statement, 0);
  book->title = raw_copied_text(statement, 1, &book->title_length);
  book->isbn = raw_copied_text(statement, 2, &book->isbn_length);
  book->price = sqlite3_column_double(statement, 3);
  book->published = sqlite3_column_double(statement, 4);
  book->pages = sqlite3_column_int64(statement, 5);
  book->author = sqlite3_column_int64(statement, 6);
  book->author_reference = NULL;
}

void raw_fetch_books(sqlite3_stmt *statement, raw_books *books) {
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    if (books->count == books->room) {
      books->room = books->room == 0 ? 1024 : books->room * 2;
      books->rows = raw_grown(books->rows, books->room * sizeof *books->rows);
    }
    raw_read_book(statement, &books->rows[books->count++]);
  }
  if (status != SQLITE_DONE) { raw_fail(sqlite3_db_handle(statement), "fetch"); }
  sqlite3_reset(statement);
}

static raw_author *read_author(sqlite3_stmt *statement) {
  raw_author *author = raw_grown(NULL, sizeof *author);
  author->id = sqlite3_column_int64(statement, 0);
  author->name = raw_copied_text(statement, 1, &author->name_length);
  author->email = raw_copied_text(statement, 2, &author->email_length);
  author->born = sqlite3_column_int64(statement, 3);
  return author;
}

raw_author *raw_fetch_author(sqlite3_stmt *statement, int64_t id) {
  sqlite3_bind_int64(statement, 1, id);
  if (sqlite3_step(statement) != SQLITE_ROW) { raw_fail(sqlite3_db_handle(statement), "author"); }
  raw_author *author = read_author(statement);
  sqlite3_reset(statement);
  return author;
}

void raw_fetch_authors(raw_state *state) {
  while (sqlite3_step(state->select_authors) == SQLITE_ROW) {
    raw_author *author = read_author(state->select_authors);
    state->authors[author->id] = author;
  }
  sqlite3_reset(state->select_authors);
}

void raw_free_books(raw_books *books) {
  for (size_t i = 0; i < books->count; i++) {
    free(books->rows[i].title);
    free(books->rows[i].isbn);
  }
  free(books->rows);
  *books = (raw_books){0};
}

void raw_free_authors(raw_state *state) {
  if (state->authors == NULL) { return; }
  for (size_t id = 0; id <= state->data->author_count; id++) {
    raw_author *author = state->authors[id];
    if (author == NULL) { continue; }
    free(author->name);
    free(author->email);
    free(author);
  }
  free(state->authors);
  state->authors = NULL;
}

uint64_t raw_touch_books(const raw_books *books) {
  uint64_t sum = 0;
  for (size_t i = 0; i < books->count; i++) {
    const raw_book *book = &books->rows[i];
    sum += bench_book_touch(book->title_length, book->isbn_length, book->price, book->published, book->pages, book->author != 0);
  }
  return sum;
}

uint64_t raw_deep_books(const raw_books *books) {
  uint64_t sum = 0;
  for (size_t i = 0; i < books->count; i++) {
    const raw_book *book = &books->rows[i];
    sum += bench_book_deep(
        book->title, book->title_length, book->isbn, book->isbn_length, book->price, book->published, book->pages,
        (uint32_t)book->author - 1);
  }
  return sum;
}
