// StoreFiles: a store's files besides its database, and how all of them are written, replaced and removed; does not use SQLite.
//
// The layers, from the bottom up:
//
//   Files         single files: owner, identity, exclusive creation, syncing; the key file and the log as files
//   Watching      commits of other processes: the file that each commit touches, and the thread that watches stores
//   LargeValues   the folder of a store's large values, each encrypted in its own file
//   (the root)    replacing and removing whole stores
