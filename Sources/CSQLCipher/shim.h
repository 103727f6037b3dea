// The one place that knows which SQLCipher build is used: the system's, found by pkg-config.
#ifndef CIPHERDATA_CSQLCIPHER_SHIM_H
#define CIPHERDATA_CSQLCIPHER_SHIM_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1 // the header declares sqlite3_key only under it
#endif
#include <sqlcipher/sqlite3.h>

#endif
