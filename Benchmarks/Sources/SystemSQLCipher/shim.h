// The system's SQLCipher, found by pkg-config as in the library. The separate module name avoids a clash with the library's.
#ifndef BENCHMARKS_SYSTEM_SQLCIPHER_H
#define BENCHMARKS_SYSTEM_SQLCIPHER_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1 // the header declares sqlite3_key only under it
#endif
#include <sqlcipher/sqlite3.h>

#endif
