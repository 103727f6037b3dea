// SQLCipherConnection: encrypted databases: connections, statements, transactions, copies, verification; the only module that uses SQLCipher.
//
// The layers, from the bottom up:
//
//   Library        the linked library and its features; quoting
//   Files          database files through SQLite's own descriptors: handles, locks, the guard against pages of zeros; errors
//   Statements     prepared statements
//   Connection     a keyed handle: opening, settings, functions, transactions
//   Pool           one writer and several readers
//   Verification   finding damage before it is read
//   Copies         new databases: empty, or copied from another
//   Keyring        creating, unlocking, changing and rotating a store's keys
//   (the root)     the only export to plaintext
