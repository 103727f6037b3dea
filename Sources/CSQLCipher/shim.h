// The one place that knows which SQLCipher build is used: the one that pkg-config names.
#ifndef CIPHERDATA_CSQLCIPHER_SHIM_H
#define CIPHERDATA_CSQLCIPHER_SHIM_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1 // the header declares sqlite3_key only under it
#endif
// Not <sqlcipher/sqlite3.h>: pkg-config's -I ends in /sqlcipher, so this spelling lets a private prefix win over /usr/include.
#include <sqlite3.h>

// Swift cannot call variadic C functions.
static inline int cipherdata_db_config_flag(sqlite3 *database, int option, int value, int *now) {
  return sqlite3_db_config(database, option, value, now);
}

// Options that the older headers do not name; a library that does not know them answers SQLITE_ERROR.
#define CIPHERDATA_DBCONFIG_NO_CKPT_ON_CLOSE 1006
#define CIPHERDATA_DBCONFIG_DEFENSIVE 1010

#endif
