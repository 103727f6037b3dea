// ObjectStore: the contract between contexts and stores, rows, the coordinator of stores, and the store in memory.
//
// The floors, from the bottom up:
//
//   Rows          rows as images, large values, and the errors that name rows
//   Requests      what is asked of stores for single objects: saves, and what goes with every request
//   Batch         batch requests, and what they have changed
//   History       what transactions have done, as records
//   Contract      what a store is told and has to do
//   Evaluation    requests answered by evaluation in memory, for stores that have nothing better
//   Derivation    derived attributes of such stores
//   InMemory      the store in memory
//   Coordinator   the open stores of a model, their row caches, and what they have committed
//   Histories     what the histories of stores tell applications, and what others commit
//   Files         stores copied, replaced and removed through their coordinator
//   Migration     stores migrated through their coordinator
