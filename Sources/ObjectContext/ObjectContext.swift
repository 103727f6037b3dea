// ObjectContext: managed objects: contexts, objects, fetching, saving, containers, and migration in code.
//
// The layers, from the bottom up:
//
//   Rows            access to stores and their rows
//   Policies        merge policies
//   Core            the context, its objects, and the parts of its state
//   Object          properties: by key, typed, composite, transformable
//   Relationships   to-one and to-many relationships and their inverses
//   Faulting        loading rows and members
//   Context         finding, inserting, updating and deleting objects; events; batch requests; merging
//   Entities        entities declared by classes
//   Foundation      Foundation's predicates and sort descriptors
//   Fetching        fetches of all kinds, including unsaved changes
//   Saving          delete rules, validation, conflicts, and the steps of a save
//   Observation     observing single objects, with Observation and as sequences
//   Nesting         contexts with a parent context
//   Results         live results and their changes
//   Undo            undo and redo
//   Snapshots       values of objects that can be sent and applied
//   Migration       migration in code and in stages
//   Container       models with their stores and contexts; context actors
