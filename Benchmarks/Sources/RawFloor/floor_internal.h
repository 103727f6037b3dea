// Declarations shared by the files of the C baseline.
#ifndef FLOOR_INTERNAL_H
#define FLOOR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
#include <sqlcipher/sqlite3.h>

#include "raw_floor.h"

typedef struct floor_author {
  int64_t id;
  char *name, *email;
  uint32_t name_length, email_length;
  int64_t born;
} floor_author;

typedef struct floor_book {
  int64_t id;
  char *title, *isbn;
  uint32_t title_length, isbn_length;
  double price, published;
  int64_t pages;
  int64_t author;
  floor_author *author_reference; // set by W11's preparation only
} floor_book;

typedef struct floor_books {
  floor_book *rows;
  size_t count, room;
} floor_books;

typedef struct floor_tag {
  int64_t id;
  char *name;
  uint32_t name_length;
} floor_tag;

typedef struct floor_pair {
  int64_t book, tag;
} floor_pair;

struct floor_state {
  const bench_data *data;
  char *base_path, *work_path, *disk_path, *archive_store_path;
  char *archive_path;
  bool has_base, has_archive_store;

  sqlite3 *base;                   // the open connection of the reading workloads
  sqlite3_stmt *select_all;        // prepared once, as a long-lived program does
  sqlite3_stmt *select_top, *count_all, *count_where;
  sqlite3_stmt *select_book, *select_author, *select_authors, *select_tags;

  sqlite3 *other;                  // the connection of the current workload
  floor_books books;               // the rows of the current workload
  floor_books second;              // W6's second set
  floor_author **authors;          // by ID, W10 and W11
  floor_pair *pairs;               // W12
  size_t pair_count, pair_room;
  uint32_t *sample;                // book indexes of the current workload
  size_t sample_count;
  uint64_t touched;
  sqlite3 *archive;                // W20
  char version[64];
};

// connection.c
typedef enum floor_durability { FLOOR_NORMAL, FLOOR_FULL } floor_durability;
void floor_fail(sqlite3 *db, const char *what) __attribute__((noreturn));
sqlite3 *floor_connect(const char *path, floor_durability durability);
void floor_disconnect(sqlite3 **db);
void floor_execute(sqlite3 *db, const char *sql);
sqlite3_stmt *floor_prepare(sqlite3 *db, const char *sql);
void floor_step_done(sqlite3 *db, sqlite3_stmt *statement);
void floor_remove_store(const char *path);
void floor_copy_file(const char *from, const char *to);
char *floor_path(const char *folder, const char *name);
void *floor_grown(void *block, size_t bytes);

// library.c: the bookshop's schema and contents
void floor_create_library(sqlite3 *db);
void floor_insert_library(sqlite3 *db, const bench_data *data);
uint64_t floor_library_checksum(sqlite3 *db, const bench_data *data);
void floor_need_base(floor_state *state);
void floor_warm_up(floor_state *state);
void floor_take_sample(floor_state *state, uint64_t seed);
sqlite3 *floor_open_copy(floor_state *state, const char *path, floor_durability durability);

// rows.c: structs and their strings
#define FLOOR_BOOK_COLUMNS "id, title, isbn, price, published, pages, author"
void floor_fetch_books(sqlite3_stmt *statement, floor_books *books);
void floor_read_book(sqlite3_stmt *statement, floor_book *book);
floor_author *floor_fetch_author(sqlite3_stmt *statement, int64_t id);
void floor_fetch_authors(floor_state *state);
char *floor_copied_text(sqlite3_stmt *statement, int column, uint32_t *length);
void floor_free_books(floor_books *books);
void floor_free_authors(floor_state *state);
uint64_t floor_touch_books(const floor_books *books);
uint64_t floor_deep_books(const floor_books *books);

// The workloads by kind
double floor_one(const floor_state *state);
double floor_book_count(const floor_state *state);
extern const floor_workload floor_fetch_workloads[];
extern const floor_workload floor_fault_workloads[];
extern const floor_workload floor_tag_workloads[];
extern const floor_workload floor_write_workloads[];
extern const floor_workload floor_memory_workloads[];
extern const floor_workload floor_archive_workloads[];
extern const int floor_fetch_workload_count, floor_fault_workload_count, floor_tag_workload_count, floor_write_workload_count,
    floor_memory_workload_count, floor_archive_workload_count;

#endif
