// SQLCipherConnection: encrypted databases: connections, statements, transactions, copies, verification; the only module that knows SQLCipher.
//
// The floors, from the bottom up:
//
//   Library        what is linked and what it can do; its result codes; quoting
//   Files          database files through SQLite's own descriptors: handles, locks, the guard against pages of zeros
//   Statements     prepared statements
//   Connection     a keyed handle: settings, functions, transactions
//   Pool           one writer and several readers
//   Verification   damage that nobody has read yet
//   Copies         new databases: empty, or with what another one holds
//   Keyring        the keys of one store: made, unlocked, changed, rotated
//   (the root)     the one way out of encryption
