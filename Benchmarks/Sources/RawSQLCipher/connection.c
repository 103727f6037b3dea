// Connections with the settings of both sides, and helpers for the C API.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raw_internal.h"

// A raw 32-byte key and a 16-byte salt: neither side derives a key. The benchmark's data is not secret.
static const char raw_key[] =
    "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf'";

void raw_fail(sqlite3 *db, const char *what) {
  fprintf(stderr, "raw SQLCipher: %s: %s\n", what, db != NULL ? sqlite3_errmsg(db) : "failed");
  exit(70);
}

void raw_execute(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) { raw_fail(db, sql); }
}

sqlite3 *raw_connect(const char *path, raw_durability durability) {
  sqlite3 *db = NULL;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) { raw_fail(db, path); }
  if (sqlite3_key(db, raw_key, (int)strlen(raw_key)) != SQLITE_OK) { raw_fail(db, "key"); }
  raw_execute(db, "PRAGMA cipher_page_size = 4096");
  raw_execute(db, "PRAGMA journal_mode = WAL");
  raw_execute(db, durability == RAW_FULL ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  raw_execute(db, "PRAGMA cache_size = -65536");
  raw_execute(db, "PRAGMA temp_store = MEMORY");
  return db;
}

void raw_disconnect(sqlite3 **db) {
  if (*db == NULL) { return; }
  if (sqlite3_close(*db) != SQLITE_OK) { raw_fail(*db, "close"); }
  *db = NULL;
}

sqlite3_stmt *raw_prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) { raw_fail(db, sql); }
  return statement;
}

void raw_step_done(sqlite3 *db, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) { raw_fail(db, sqlite3_sql(statement)); }
  sqlite3_reset(statement);
}

char *raw_path(const char *folder, const char *name) {
  size_t room = strlen(folder) + strlen(name) + 2;
  char *path = raw_grown(NULL, room);
  snprintf(path, room, "%s/%s", folder, name);
  return path;
}

void *raw_grown(void *block, size_t bytes) {
  void *grown = realloc(block, bytes);
  if (grown == NULL) { raw_fail(NULL, "no memory"); }
  return grown;
}

void raw_remove_store(const char *path) {
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    char name[4096];
    snprintf(name, sizeof name, "%s%s", path, endings[i]);
    unlink(name);
  }
}

void raw_copy_file(const char *from, const char *to) {
  static char buffer[1 << 20];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  if (in == NULL || out == NULL) { raw_fail(NULL, to); }
  size_t count;
  while ((count = fread(buffer, 1, sizeof buffer, in)) > 0) {
    if (fwrite(buffer, 1, count, out) != count) { raw_fail(NULL, to); }
  }
  if (ferror(in) || fflush(out) != 0 || fsync(fileno(out)) != 0) { raw_fail(NULL, to); }
  fclose(in);
  fclose(out);
}

const char *raw_sqlite_version(void) { return sqlite3_libversion(); }

const char *raw_cipher_version(raw_state *state) {
  sqlite3 *db = NULL;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) { raw_fail(db, "open in memory"); }
  sqlite3_stmt *statement = raw_prepare(db, "PRAGMA cipher_version");
  state->version[0] = 0;
  if (sqlite3_step(statement) == SQLITE_ROW) {
    snprintf(state->version, sizeof state->version, "%s", (const char *)sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  raw_disconnect(&db);
  return state->version;
}
