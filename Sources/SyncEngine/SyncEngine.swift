// SyncEngine: synchronizes a SQLCipher store with a zone.
//
// The layers, from the bottom up:
//
//   Errors      what can go wrong, and what to do
//   Schema      the parts of a model that are synchronized, and what stands in the way
//   Replica     a store as the protocol sees it: records, pending saves from the history, objects
//   Account     the keys of a user's devices, and their registration with a hub
//   Journal     values that have lost, and how they are restored
//   Run         rounds of synchronization, and the process that runs them
//   Inspection  what waits to be sent, and what devices disagree about
