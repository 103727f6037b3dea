// SQLCipherStore: the store in an encrypted database: its tables, the SQL over them, fetching, saving, batches, migration.
//
// The floors, from the bottom up:
//
//   Basics         pieces of SQL, functions, values in statements; errors of connections as those of stores
//   Schema         where everything of a model lies in the file, and the statements over each table
//   Queries        predicates and whole fetches as SQL
//   Transactions   snapshots and write transactions as values, and keys for new rows
//   External       large values in files beside the database
//   Rows           rows read into images and written out of them
//   Derivation     derived attributes: noted by triggers, computed before the commit
//   History        what transactions write to the history
//   Definition     tables, indexes, triggers and views: made, and brought in step
//   Engine         an open store, and who takes part in its transactions
//   Fetch          fetches, faults and members
//   Save           one save, from its statements to its end
//   Batch          batch requests as statements about sets of rows
//   Explain        how a fetch would be answered
//   Store          the contract's requests, answered by an engine
//   Transfer       rows of other kinds of stores
//   Migration      from an older model to a newer one
//   File           a store's file without a coordinator: copies, checks, keys, figures
//   (the root)     opening, and what a description says to it
