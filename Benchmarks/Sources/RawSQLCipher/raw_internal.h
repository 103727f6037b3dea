// Declarations shared by the files of the C baseline.
#ifndef RAW_INTERNAL_H
#define RAW_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
#include <sqlcipher/sqlite3.h>

#include "raw_sqlcipher.h"

typedef struct raw_author {
  int64_t id;
  char *name, *email;
  uint32_t name_length, email_length;
  int64_t born;
} raw_author;

typedef struct raw_book {
  int64_t id;
  char *title, *isbn;
  uint32_t title_length, isbn_length;
  double price, published;
  int64_t pages;
  int64_t author;
  raw_author *author_reference; // set by W11's preparation only
} raw_book;

typedef struct raw_books {
  raw_book *rows;
  size_t count, room;
} raw_books;

typedef struct raw_tag {
  int64_t id;
  char *name;
  uint32_t name_length;
} raw_tag;

typedef struct raw_pair {
  int64_t book, tag;
} raw_pair;

struct raw_state {
  const bench_data *data;
  char *base_path, *work_path, *disk_path, *archive_store_path;
  char *archive_path;
  bool has_base, has_archive_store;

  sqlite3 *base;                   // the open connection of the reading workloads
  sqlite3_stmt *select_all;        // prepared once, as a long-lived program does
  sqlite3_stmt *select_top, *count_all, *count_where;
  sqlite3_stmt *select_book, *select_author, *select_authors, *select_tags;

  sqlite3 *other;                  // the connection of the current workload
  raw_books books;               // the rows of the current workload
  raw_books second;              // W6's second set
  raw_author **authors;          // by ID, W10 and W11
  raw_pair *pairs;               // W12
  size_t pair_count, pair_room;
  uint32_t *sample;                // book indexes of the current workload
  size_t sample_count;
  uint64_t touched;
  sqlite3 *archive;                // W20
  char version[64];
};

// connection.c
typedef enum raw_durability { RAW_NORMAL, RAW_FULL } raw_durability;
void raw_fail(sqlite3 *db, const char *what) __attribute__((noreturn));
sqlite3 *raw_connect(const char *path, raw_durability durability);
void raw_disconnect(sqlite3 **db);
void raw_execute(sqlite3 *db, const char *sql);
sqlite3_stmt *raw_prepare(sqlite3 *db, const char *sql);
void raw_step_done(sqlite3 *db, sqlite3_stmt *statement);
void raw_remove_store(const char *path);
void raw_copy_file(const char *from, const char *to);
char *raw_path(const char *folder, const char *name);
void *raw_grown(void *block, size_t bytes);

// library.c: the bookshop's schema and contents
void raw_create_library(sqlite3 *db);
void raw_insert_library(sqlite3 *db, const bench_data *data);
uint64_t raw_library_checksum(sqlite3 *db, const bench_data *data);
void raw_need_base(raw_state *state);
void raw_warm_up(raw_state *state);
void raw_take_sample(raw_state *state, uint64_t seed);
sqlite3 *raw_open_copy(raw_state *state, const char *path, raw_durability durability);

// rows.c: structs and their strings
#define RAW_BOOK_COLUMNS "id, title, isbn, price, published, pages, author"
void raw_fetch_books(sqlite3_stmt *statement, raw_books *books);
void raw_read_book(sqlite3_stmt *statement, raw_book *book);
raw_author *raw_fetch_author(sqlite3_stmt *statement, int64_t id);
void raw_fetch_authors(raw_state *state);
char *raw_copied_text(sqlite3_stmt *statement, int column, uint32_t *length);
void raw_free_books(raw_books *books);
void raw_free_authors(raw_state *state);
uint64_t raw_touch_books(const raw_books *books);
uint64_t raw_deep_books(const raw_books *books);

// The workloads by kind
double raw_one(const raw_state *state);
double raw_book_count(const raw_state *state);
extern const raw_workload raw_fetch_workloads[];
extern const raw_workload raw_fault_workloads[];
extern const raw_workload raw_tag_workloads[];
extern const raw_workload raw_write_workloads[];
extern const raw_workload raw_memory_workloads[];
extern const raw_workload raw_archive_workloads[];
extern const int raw_fetch_workload_count, raw_fault_workload_count, raw_tag_workload_count, raw_write_workload_count,
    raw_memory_workload_count, raw_archive_workload_count;

#endif
