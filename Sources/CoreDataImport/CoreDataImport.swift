// CoreDataImport: reading stores of Core Data into encrypted stores.
//
// The layers, from the bottom up:
//
//   Basics       a recognized store, import options, and errors
//   Source       the file: its tables and metadata
//   Layout       the tables of Core Data and of the encrypted Core Data store
//   Reading      rows, links and values
//   Import       writing rows into a new store
//   (the root)   opening and importing
