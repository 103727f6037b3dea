// ObjectStore: the protocol between contexts and stores, rows, the coordinator of stores, and the in-memory store.
//
// The layers, from the bottom up:
//
//   Rows          row images, large values, and errors about rows
//   Requests      requests for single objects, such as saves, and their context
//   Batch         batch requests and their results
//   History       records of transactions
//   Contract      what a store must implement
//   Evaluation    in-memory evaluation of requests for stores without their own
//   Derivation    derived attributes of such stores
//   InMemory      the in-memory store
//   Coordinator   open stores of a model, row caches, and published changes
//   Histories     reading the history, and commits of other processes
//   Files         copying, replacing and removing stores through the coordinator
//   Migration     migrating stores through the coordinator
