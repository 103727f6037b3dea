// SQLCipherStore: the encrypted store: tables, SQL, fetching, saving, batch requests, migration.
//
// The layers, from the bottom up:
//
//   Basics         SQL fragments, SQL functions, bound values; mapping of connection errors
//   Schema         the tables of a model, and the statements of each table
//   Queries        predicates and fetches as SQL
//   Transactions   snapshots and write transactions as values; keys for new rows
//   External       large values in files outside the database
//   Rows           reading and writing row images
//   Derivation     derived attributes: recorded by triggers, computed before the commit
//   History        writing transactions to the history
//   Definition     creating and updating tables, indexes, triggers and views
//   Engine         an open store, and the participants of its transactions
//   Fetch          fetches, faults and members
//   Save           one save, from its first statement to its end
//   Batch          batch requests as statements about sets of rows
//   Explain        explanations of fetches
//   Store          the store protocol's requests
//   Transfer       rows of other kinds of stores
//   Migration      migration to another version of the model
//   File           a store's file without a coordinator: copies, verification, keys, statistics
//   (the root)     opening stores, and options
