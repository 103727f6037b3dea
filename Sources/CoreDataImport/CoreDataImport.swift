// CoreDataImport: stores that Core Data wrote, read into encrypted ones.
//
// The floors, from the bottom up:
//
//   Basics       a recognised store, the options of its import, and what can go wrong
//   Source       the file: its tables and metadata
//   Layout       where Core Data and the encrypted Core Data store keep what a model describes
//   Reading      rows, links and values
//   Import       rows into a new store
//   (the root)   opening and importing
