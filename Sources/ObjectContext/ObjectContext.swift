// ObjectContext: living objects over the stores of a coordinator: contexts, their objects, fetching, saving, containers and migration by code.
//
// The floors, from the bottom up:
//
//   Rows            the one way to stores and their rows
//   Policies        what a save does about conflicts
//   Core            a context, its objects, and the parts of the context: each keeps its state to itself
//   Object          properties: by key, typed, composite, transformable
//   Relationships   to-one and to-many relationships, and their inverses
//   Faulting        how faults and members get their values
//   Context         finding objects by their IDs; inserting, updating, deleting; the end of an event; batches; merging
//   Entities        entities declared by classes
//   Foundation      predicates and sort descriptors of Foundation
//   Fetching        fetches of every kind, with unsaved changes
//   Saving          delete rules, validation, conflicts, one save from its beginning to its end
//   Observation     single objects observed, by Observation and as sequences
//   Nesting         contexts over other contexts
//   Results         results of fetches that are kept up to date, and how they change
//   Undo            changes taken back, and made again
//   Snapshots       values of objects that go anywhere, and back into a context
//   Migration       migrations by code and in stages
//   Container       models with their stores and contexts; contexts of actors
//   Document        folders of one store and other files, which save themselves
