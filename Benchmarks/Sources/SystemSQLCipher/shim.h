// The system's SQLCipher, found by pkg-config as the library finds it. A module of its own name, so that it never clashes with the library's.
#ifndef BENCHMARKS_SYSTEM_SQLCIPHER_H
#define BENCHMARKS_SYSTEM_SQLCIPHER_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1 // the header declares sqlite3_key only under it
#endif
#include <sqlcipher/sqlite3.h>

#endif
