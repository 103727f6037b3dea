// ObjectContext: managed objects: contexts, objects, fetching, saving, containers, and migration in code.
//
// The layers, from the bottom up:
//
//   Context         the context and its parts, the table of contexts, and deferred errors
//   Rows            access to the rows of stores, query generations and parent contexts
//   Objects         managed objects: their values, access by key, identity, and the registry of a context
//   Classes         classes of objects: generated, or declaring their entities
//   Relationships   to-one and to-many relationships and their inverses
//   Faulting        loading rows and members, and reading ahead
//   Undo            recording changes, undo and redo
//   Changes         inserting and deleting objects, unsaved changes, delete rules, events and notifications
//   Fetching        predicates and fetches of all kinds, including unsaved changes
//   Validation      validating objects before a save
//   Merging         merge policies, conflicts, and changes made in other contexts and processes
//   Saving          saves, automatic saves and batch requests
//   Nesting         contexts with a parent context
//   Observation     observing single objects, with Observation and as sequences
//   Results         live results and their changes
//   Snapshots       values of objects that can be sent and applied
//   Migration       migration in code and in stages
//   Container       models with their stores and contexts; context actors
