// CoreDataImport: reading stores of Core Data into encrypted stores.
//
// The layers, from the bottom up:
//
//   Errors    errors of imports
//   Store     a recognized store, and import options
//   Source    the file: its tables and metadata
//   Layout    the tables of Core Data and of the encrypted Core Data store
//   Reading   rows, links and values
//   Import    opening a store of Core Data, and writing its rows into a new store
