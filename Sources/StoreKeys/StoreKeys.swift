// StoreKeys: what opens a store: keys, the key file with its slots, and the cryptography of both; it knows libcrypto, and no SQLite.
//
// The floors, from the bottom up:
//
//   Basics         the one error of keys, files and connections; the page formats
//   Cryptography   the only calls of libcrypto; memory for secrets
//   Pages          the key of a database, and its pages without SQLite
//   KeyFile        the file beside a store: slots, the work that opening them may cost, recovery keys
//   (the root)     what an application opens a store with
