// Rows as C structs that own their strings.
#include <stdlib.h>
#include <string.h>

#include "floor_internal.h"

char *floor_copied_text(sqlite3_stmt *statement, int column, uint32_t *length) {
  const unsigned char *bytes = sqlite3_column_text(statement, column);
  uint32_t count = (uint32_t)sqlite3_column_bytes(statement, column);
  char *copy = malloc(count + 1);
  if (copy == NULL) { floor_fail(NULL, "no memory"); }
  memcpy(copy, bytes, count);
  copy[count] = 0;
  *length = count;
  return copy;
}

void floor_read_book(sqlite3_stmt *statement, floor_book *book) {
  book->id = sqlite3_column_int64(statement, 0);
  book->title = floor_copied_text(statement, 1, &book->title_length);
  book->isbn = floor_copied_text(statement, 2, &book->isbn_length);
  book->price = sqlite3_column_double(statement, 3);
  book->published = sqlite3_column_double(statement, 4);
  book->pages = sqlite3_column_int64(statement, 5);
  book->author = sqlite3_column_int64(statement, 6);
  book->author_reference = NULL;
}

void floor_fetch_books(sqlite3_stmt *statement, floor_books *books) {
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    if (books->count == books->room) {
      books->room = books->room == 0 ? 1024 : books->room * 2;
      books->rows = floor_grown(books->rows, books->room * sizeof *books->rows);
    }
    floor_read_book(statement, &books->rows[books->count++]);
  }
  if (status != SQLITE_DONE) { floor_fail(sqlite3_db_handle(statement), "fetch"); }
  sqlite3_reset(statement);
}

static floor_author *read_author(sqlite3_stmt *statement) {
  floor_author *author = floor_grown(NULL, sizeof *author);
  author->id = sqlite3_column_int64(statement, 0);
  author->name = floor_copied_text(statement, 1, &author->name_length);
  author->email = floor_copied_text(statement, 2, &author->email_length);
  author->born = sqlite3_column_int64(statement, 3);
  return author;
}

floor_author *floor_fetch_author(sqlite3_stmt *statement, int64_t id) {
  sqlite3_bind_int64(statement, 1, id);
  if (sqlite3_step(statement) != SQLITE_ROW) { floor_fail(sqlite3_db_handle(statement), "author"); }
  floor_author *author = read_author(statement);
  sqlite3_reset(statement);
  return author;
}

void floor_fetch_authors(floor_state *state) {
  while (sqlite3_step(state->select_authors) == SQLITE_ROW) {
    floor_author *author = read_author(state->select_authors);
    state->authors[author->id] = author;
  }
  sqlite3_reset(state->select_authors);
}

void floor_free_books(floor_books *books) {
  for (size_t i = 0; i < books->count; i++) {
    free(books->rows[i].title);
    free(books->rows[i].isbn);
  }
  free(books->rows);
  *books = (floor_books){0};
}

void floor_free_authors(floor_state *state) {
  if (state->authors == NULL) { return; }
  for (size_t id = 0; id <= state->data->author_count; id++) {
    floor_author *author = state->authors[id];
    if (author == NULL) { continue; }
    free(author->name);
    free(author->email);
    free(author);
  }
  free(state->authors);
  state->authors = NULL;
}

uint64_t floor_touch_books(const floor_books *books) {
  uint64_t sum = 0;
  for (size_t i = 0; i < books->count; i++) {
    const floor_book *book = &books->rows[i];
    sum += bench_book_touch(book->title_length, book->isbn_length, book->price, book->published, book->pages, book->author != 0);
  }
  return sum;
}

uint64_t floor_deep_books(const floor_books *books) {
  uint64_t sum = 0;
  for (size_t i = 0; i < books->count; i++) {
    const floor_book *book = &books->rows[i];
    sum += bench_book_deep(
        book->title, book->title_length, book->isbn, book->isbn_length, book->price, book->published, book->pages,
        (uint32_t)book->author - 1);
  }
  return sum;
}
