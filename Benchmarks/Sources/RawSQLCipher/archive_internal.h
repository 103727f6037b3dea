// The archive's package index in the C baseline.
#ifndef ARCHIVE_INTERNAL_H
#define ARCHIVE_INTERNAL_H

#include "archive_parse.h"
#include "raw_internal.h"

// archive_import.c
void archive_create_tables(sqlite3 *db);
void archive_import(sqlite3 *db, const char *path);
uint64_t archive_checksum(sqlite3 *db);

#endif
