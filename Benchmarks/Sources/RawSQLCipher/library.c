// The bookshop: its tables, how a C program fills them, and the shared store of the reading workloads.
#include <stdlib.h>

#include "raw_internal.h"

void raw_create_library(sqlite3 *db) {
  raw_execute(
      db,
      "BEGIN;"
      "CREATE TABLE metadata (version INTEGER NOT NULL, model BLOB NOT NULL);"
      "INSERT INTO metadata VALUES (1, zeroblob(32));"
      "CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, born INTEGER NOT NULL);"
      "CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
      "CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL, isbn TEXT NOT NULL, price REAL NOT NULL, published REAL NOT NULL,"
      " pages INTEGER NOT NULL, author INTEGER NOT NULL);"
      "CREATE INDEX book_by_author ON book (author);"
      "CREATE TABLE book_tag (book INTEGER NOT NULL, tag INTEGER NOT NULL, PRIMARY KEY (book, tag)) WITHOUT ROWID;"
      "CREATE INDEX book_tag_by_tag ON book_tag (tag);"
      "COMMIT");
}

static void bind_text(sqlite3_stmt *statement, int index, bench_text text) {
  sqlite3_bind_text(statement, index, text.bytes, (int)text.length, SQLITE_STATIC);
}

void raw_insert_library(sqlite3 *db, const bench_data *data) {
  raw_execute(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *statement = raw_prepare(db, "INSERT INTO author VALUES (?, ?, ?, ?)");
  for (size_t i = 0; i < data->author_count; i++) {
    const bench_author *author = &data->authors[i];
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1);
    bind_text(statement, 2, author->name);
    bind_text(statement, 3, author->email);
    sqlite3_bind_int64(statement, 4, author->born);
    raw_step_done(db, statement);
  }
  sqlite3_finalize(statement);

  statement = raw_prepare(db, "INSERT INTO tag VALUES (?, ?)");
  for (size_t i = 0; i < data->tag_count; i++) {
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1);
    bind_text(statement, 2, data->tags[i].name);
    raw_step_done(db, statement);
  }
  sqlite3_finalize(statement);

  statement = raw_prepare(db, "INSERT INTO book VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (size_t i = 0; i < data->book_count; i++) {
    const bench_book *book = &data->books[i];
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1);
    bind_text(statement, 2, book->title);
    bind_text(statement, 3, book->isbn);
    sqlite3_bind_double(statement, 4, book->price);
    sqlite3_bind_double(statement, 5, book->published);
    sqlite3_bind_int64(statement, 6, book->pages);
    sqlite3_bind_int64(statement, 7, (int64_t)book->author + 1);
    raw_step_done(db, statement);
  }
  sqlite3_finalize(statement);

  statement = raw_prepare(db, "INSERT INTO book_tag VALUES (?, ?)");
  for (size_t i = 0; i < data->pair_count; i++) {
    sqlite3_bind_int64(statement, 1, (int64_t)data->pairs[i].book + 1);
    sqlite3_bind_int64(statement, 2, (int64_t)data->pairs[i].tag + 1);
    raw_step_done(db, statement);
  }
  sqlite3_finalize(statement);
  raw_execute(db, "COMMIT");
}

static const char *text(sqlite3_stmt *statement, int column, size_t *length) {
  const char *bytes = (const char *)sqlite3_column_text(statement, column);
  *length = (size_t)sqlite3_column_bytes(statement, column);
  return bytes;
}

/// Reads every byte of every row: the sum over authors, tags, books and pairs.
uint64_t raw_library_checksum(sqlite3 *db, const bench_data *data) {
  uint64_t sum = 0;
  size_t length, length2;
  sqlite3_stmt *statement = raw_prepare(db, "SELECT name, email, born FROM author");
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const char *name = text(statement, 0, &length), *email = text(statement, 1, &length2);
    sum += bench_author_deep(name, length, email, length2, sqlite3_column_int64(statement, 2));
  }
  sqlite3_finalize(statement);
  statement = raw_prepare(db, "SELECT name FROM tag");
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const char *name = text(statement, 0, &length);
    sum += bench_tag_deep(name, length);
  }
  sqlite3_finalize(statement);
  raw_books books = {0};
  statement = raw_prepare(db, "SELECT " RAW_BOOK_COLUMNS " FROM book");
  raw_fetch_books(statement, &books);
  sqlite3_finalize(statement);
  sum += raw_deep_books(&books);
  raw_free_books(&books);
  statement = raw_prepare(db, "SELECT book, tag FROM book_tag");
  while (sqlite3_step(statement) == SQLITE_ROW) {
    bench_text name = data->tags[sqlite3_column_int64(statement, 1) - 1].name;
    sum += bench_pair_deep((uint32_t)sqlite3_column_int64(statement, 0) - 1, name.bytes, name.length);
  }
  sqlite3_finalize(statement);
  return sum;
}

void raw_need_base(raw_state *state) {
  if (!state->has_base) {
    raw_remove_store(state->base_path);
    sqlite3 *db = raw_connect(state->base_path, RAW_NORMAL);
    raw_create_library(db);
    raw_insert_library(db, state->data);
    raw_execute(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    raw_disconnect(&db);
    state->has_base = true;
  }
  if (state->base != NULL) { return; }
  state->base = raw_connect(state->base_path, RAW_NORMAL);
  state->select_all = raw_prepare(state->base, "SELECT " RAW_BOOK_COLUMNS " FROM book");
  state->select_top =
      raw_prepare(state->base, "SELECT " RAW_BOOK_COLUMNS " FROM book WHERE price > ? ORDER BY title LIMIT 1000");
  state->count_all = raw_prepare(state->base, "SELECT count(*) FROM book");
  state->count_where = raw_prepare(state->base, "SELECT count(*) FROM book WHERE price > ?");
  state->select_book = raw_prepare(state->base, "SELECT " RAW_BOOK_COLUMNS " FROM book WHERE id = ?");
  state->select_author = raw_prepare(state->base, "SELECT id, name, email, born FROM author WHERE id = ?");
  state->select_authors = raw_prepare(state->base, "SELECT id, name, email, born FROM author");
  state->select_tags = raw_prepare(
      state->base, "SELECT tag.id, tag.name FROM book_tag JOIN tag ON tag.id = book_tag.tag WHERE book_tag.book = ?");
}

void raw_warm_up(raw_state *state) {
  raw_need_base(state);
  raw_library_checksum(state->base, state->data);
}

/// A tenth of the books.
void raw_take_sample(raw_state *state, uint64_t seed) {
  free(state->sample);
  state->sample_count = state->data->book_count / 10;
  state->sample = bench_sample_books(state->data, seed, state->sample_count);
}

/// A fresh copy of the base store with its pages cached, for a workload that writes.
sqlite3 *raw_open_copy(raw_state *state, const char *path, raw_durability durability) {
  raw_need_base(state);
  raw_remove_store(path);
  raw_copy_file(state->base_path, path);
  sqlite3 *db = raw_connect(path, durability);
  raw_library_checksum(db, state->data);
  return db;
}
