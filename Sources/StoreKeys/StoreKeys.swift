// StoreKeys: keys, the key file with its slots, and their cryptography; uses libcrypto, and no SQLite.
//
// The layers, from the bottom up:
//
//   Format         the page formats of databases
//   Errors         the error type of keys, files and connections
//   Cryptography   calls of libcrypto; memory for secrets
//   Pages          a database's key, and its pages without SQLite
//   KeyFile        the key file: slots, limits of their key derivation work, recovery keys
//   (the root)     keys as applications provide them
