// ObjectStore: the protocol between contexts and stores, rows, the coordinator of stores, and the in-memory store.
//
// The layers, from the bottom up:
//
//   Rows          row images, large values, and errors about rows
//   Requests      requests to stores, their context and their results
//   Stores        what a store must implement; descriptions of stores
//   RowCache      the cache of rows that the contexts of a store share
//   Coordinator   the open stores of a model
//   Changes       change sets: what a commit changed, and its publication to observers
//   Merging       three-way merges of rows, members and orders
//   History       the history of transactions: recording, reading, observing; commits of other processes
//   Identity      stable IDs of objects, the same in all stores that contain them; single links, and objects by unique values
//   Generations   query generations: pinned states of stores
//   Execution     executing fetches and saves, and evaluating fetches in memory
//   Batch         batch requests: values, results, and evaluation in memory
//   Derivation    derived attributes of stores that do not compute their own
//   InMemory      the in-memory store
//   Files         copying, replacing and removing stores through the coordinator
//   Migration     migrating stores through the coordinator
