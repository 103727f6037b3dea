// SQLCipherStore: the encrypted store: tables, SQL, fetching, saving, batch requests, migration.
//
// The layers, from the bottom up:
//
//   Errors         mapping of connection errors; the holders of open stores
//   SQL            SQL fragments, SQL functions, constants of statements
//   Tracing        observers and logs of statements
//   Schema         the tables of a model, and the statements of each table
//   Queries        predicates and fetches as SQL
//   Transactions   read and write transactions as values, their participants; keys for new rows
//   SideTables     tables that components of modules above own in a store, written in the transactions of objects
//   Engine         an open store and the store protocol's requests; commits by others
//   Identity       stable IDs of objects
//   LargeValues    large values in files outside the database
//   Derivation     derived attributes: recorded by triggers, computed before the commit
//   Definition     creating and updating tables, indexes, triggers and views
//   History        writing transactions to the history, reading and purging them
//   Generations    query generations: snapshots that stay open
//   Fetching       fetches, faults, members and links
//   Saving         one save, from its first statement to its end; the participants of every commit
//   Batch          batch requests as statements about sets of rows
//   Explain        explanations of fetches
//   Transfer       rows of other kinds of stores
//   Files          a store's files without a coordinator: copies, verification, keys, statistics
//   Migration      migration to another version of the model
//   (the root)     opening stores, and options
