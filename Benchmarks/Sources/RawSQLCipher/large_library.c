// W30: one library at several sizes.
#include "raw_sqlcipher_large.h"

#include <stdio.h>
#include <stdlib.h>

#include "raw_internal.h"

struct raw_large {
  sqlite3 *db;
  bench_large library;
  sqlite3_stmt *select_all, *select_book, *select_tags, *select_top, *count_dear, *begin, *commit, *update;
};

raw_large *raw_large_open(const char *path, uint32_t book_count, uint32_t cache_kib) {
  raw_large *large = raw_grown(NULL, sizeof *large);
  *large = (raw_large){.db = raw_connect(path, RAW_NORMAL), .library = bench_large_make(book_count)};
  char setting[64];
  snprintf(setting, sizeof setting, "PRAGMA cache_size = -%u", cache_kib);
  raw_execute(large->db, setting);
  if (sqlite3_table_column_metadata(large->db, NULL, "book", "id", NULL, NULL, NULL, NULL, NULL) != SQLITE_OK) {
    raw_create_library(large->db);
    raw_execute(large->db, "CREATE INDEX book_by_price ON book (price)");
  }
  large->select_all = raw_prepare(large->db, "SELECT " RAW_BOOK_COLUMNS " FROM book");
  large->select_book = raw_prepare(large->db, "SELECT " RAW_BOOK_COLUMNS " FROM book WHERE id = ?");
  large->select_tags =
      raw_prepare(large->db, "SELECT tag.name FROM book_tag JOIN tag ON tag.id = book_tag.tag WHERE book_tag.book = ?");
  large->select_top =
      raw_prepare(large->db, "SELECT " RAW_BOOK_COLUMNS " FROM book WHERE pages > ? ORDER BY title LIMIT 1000");
  large->count_dear = raw_prepare(large->db, "SELECT count(*) FROM book WHERE price > ?");
  large->begin = raw_prepare(large->db, "BEGIN IMMEDIATE");
  large->commit = raw_prepare(large->db, "COMMIT");
  large->update = raw_prepare(large->db, "UPDATE OR FAIL book SET price = ? WHERE id = ?");
  return large;
}

void raw_large_close(raw_large *large) {
  if (large == NULL) { return; }
  sqlite3_stmt *statements[] = {large->select_all, large->select_book, large->select_tags, large->select_top,
                                large->count_dear, large->begin,       large->commit,      large->update};
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) { sqlite3_finalize(statements[i]); }
  raw_disconnect(&large->db);
  free(large);
}

static void bind_text(sqlite3_stmt *statement, int index, bench_text text) {
  sqlite3_bind_text(statement, index, text.bytes, (int)text.length, SQLITE_STATIC);
}

/// The statements of an import, and its progress.
typedef struct import {
  sqlite3_stmt *authors, *tags, *books, *pairs;
  uint32_t author_count, tag_count;
} import;

/// Inserts the missing authors and tags that books before this one refer to.
static void import_what_books_need(const bench_large *library, import *import, bench_large_row *row, raw_large *large, uint32_t end) {
  uint32_t authors = bench_large_authors_before(library, end), tags = bench_large_tags_before(library, end);
  for (; import->author_count < authors; import->author_count++) {
    bench_large_author(library, import->author_count, row);
    sqlite3_bind_int64(import->authors, 1, (int64_t)import->author_count + 1);
    bind_text(import->authors, 2, row->author.name);
    bind_text(import->authors, 3, row->author.email);
    sqlite3_bind_int64(import->authors, 4, row->author.born);
    raw_step_done(large->db, import->authors);
  }
  for (; import->tag_count < tags; import->tag_count++) {
    bench_large_tag(library, import->tag_count, row);
    sqlite3_bind_int64(import->tags, 1, (int64_t)import->tag_count + 1);
    bind_text(import->tags, 2, row->tag.name);
    raw_step_done(large->db, import->tags);
  }
}

static void import_book(const bench_large *library, const import *import, bench_large_row *row, raw_large *large, uint32_t index) {
  bench_large_book(library, index, row);
  sqlite3_bind_int64(import->books, 1, (int64_t)index + 1);
  bind_text(import->books, 2, row->book.title);
  bind_text(import->books, 3, row->book.isbn);
  sqlite3_bind_double(import->books, 4, row->book.price);
  sqlite3_bind_double(import->books, 5, row->book.published);
  sqlite3_bind_int64(import->books, 6, row->book.pages);
  sqlite3_bind_int64(import->books, 7, (int64_t)row->book.author + 1);
  raw_step_done(large->db, import->books);
  sqlite3_bind_int64(import->pairs, 1, (int64_t)index + 1);
  for (uint32_t tag = 0; tag < row->book.pair_count; tag++) {
    sqlite3_bind_int64(import->pairs, 2, (int64_t)row->tags[tag] + 1);
    raw_step_done(large->db, import->pairs);
  }
}

void raw_large_import(raw_large *large, uint32_t batch) {
  const bench_large *library = &large->library;
  bench_large_row row;
  import import = {
      .authors = raw_prepare(large->db, "INSERT INTO author VALUES (?, ?, ?, ?)"),
      .tags = raw_prepare(large->db, "INSERT INTO tag VALUES (?, ?)"),
      .books = raw_prepare(large->db, "INSERT INTO book VALUES (?, ?, ?, ?, ?, ?, ?)"),
      .pairs = raw_prepare(large->db, "INSERT INTO book_tag VALUES (?, ?)"),
  };
  for (uint32_t start = 0; start < library->book_count; start += batch) {
    uint32_t end = library->book_count - start < batch ? library->book_count : start + batch;
    raw_step_done(large->db, large->begin);
    import_what_books_need(library, &import, &row, large, end);
    for (uint32_t index = start; index < end; index++) { import_book(library, &import, &row, large, index); }
    raw_step_done(large->db, large->commit);
  }
  sqlite3_finalize(import.authors);
  sqlite3_finalize(import.tags);
  sqlite3_finalize(import.books);
  sqlite3_finalize(import.pairs);
}

static uint64_t touch(const raw_book *book) {
  const raw_books one = {(raw_book *)book, 1, 1};
  return raw_touch_books(&one);
}

static void release(raw_book *book) {
  free(book->title);
  free(book->isbn);
}

uint64_t raw_large_enumerate(raw_large *large) {
  uint64_t sum = 0;
  raw_book book;
  while (sqlite3_step(large->select_all) == SQLITE_ROW) {
    raw_read_book(large->select_all, &book);
    sum += touch(&book);
    release(&book);
  }
  sqlite3_reset(large->select_all);
  return sum;
}

static void read_one(raw_large *large, uint32_t index, raw_book *book) {
  sqlite3_bind_int64(large->select_book, 1, (int64_t)index + 1);
  if (sqlite3_step(large->select_book) != SQLITE_ROW) { raw_fail(large->db, "book"); }
  raw_read_book(large->select_book, book);
  sqlite3_reset(large->select_book);
}

uint64_t raw_large_deep(raw_large *large) {
  uint64_t sum = 0;
  raw_book book;
  for (uint32_t i = 0; i < large->library.book_count; i += 100) {
    read_one(large, i, &book);
    const raw_books one = {&book, 1, 1};
    sum += raw_deep_books(&one);
    release(&book);
    sqlite3_bind_int64(large->select_tags, 1, (int64_t)i + 1);
    while (sqlite3_step(large->select_tags) == SQLITE_ROW) {
      const char *name = (const char *)sqlite3_column_text(large->select_tags, 0);
      sum += bench_pair_deep(i, name, (size_t)sqlite3_column_bytes(large->select_tags, 0));
    }
    sqlite3_reset(large->select_tags);
  }
  return sum;
}

uint64_t raw_large_point(raw_large *large, const uint32_t *indexes, size_t count) {
  uint64_t sum = 0;
  raw_book book;
  raw_execute(large->db, "BEGIN");
  for (size_t i = 0; i < count; i++) {
    read_one(large, indexes[i], &book);
    sum += touch(&book);
    release(&book);
  }
  raw_step_done(large->db, large->commit);
  return sum;
}

void raw_large_save(raw_large *large, const uint32_t *indexes, const double *prices, size_t count) {
  for (size_t i = 0; i < count; i++) {
    raw_step_done(large->db, large->begin);
    sqlite3_bind_double(large->update, 1, prices[i]);
    sqlite3_bind_int64(large->update, 2, (int64_t)indexes[i] + 1);
    raw_step_done(large->db, large->update);
    raw_step_done(large->db, large->commit);
  }
}

uint64_t raw_large_count(raw_large *large) {
  sqlite3_bind_double(large->count_dear, 1, 50);
  if (sqlite3_step(large->count_dear) != SQLITE_ROW) { raw_fail(large->db, "count"); }
  uint64_t count = (uint64_t)sqlite3_column_int64(large->count_dear, 0);
  sqlite3_reset(large->count_dear);
  return count;
}

uint64_t raw_large_top(raw_large *large) {
  raw_books books = {0};
  sqlite3_bind_int64(large->select_top, 1, 500);
  raw_fetch_books(large->select_top, &books);
  uint64_t order = 0;
  for (size_t i = 0; i < books.count; i++) { order = bench_mix(order, bench_isbn_index(books.rows[i].isbn)); }
  order = bench_mix(order, raw_touch_books(&books));
  raw_free_books(&books);
  return order;
}
