// StoreFiles: a store as files: what stands beside its database, and how all of it is written, replaced and removed; it knows no SQLite.
//
// The floors, from the bottom up:
//
//   Files         one file: whose it is, whether it is the same, exclusive creation, syncing; the key file and the log as files
//   Notices       the file that each commit touches, and the thread that waits for what is written to stores
//   LargeValues   the folder of a store's large values, encrypted file by file
//   (the root)    whole stores: replaced as one, or removed
