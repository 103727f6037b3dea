// ObjectQuery: fetch requests and predicates: as values, as text, resolved against a model, evaluated in memory.
//
// The floors, from the bottom up:
//
//   Predicate    predicates and expressions as values
//   Text         how texts are folded, matched and searched
//   Values       values compared and cast
//   Request      fetch requests as values
//   Format       predicates read from text and written as text
//   Resolved     predicates and requests with the numbers of a model in place of names
//   Evaluation   the meaning of resolved predicates, in memory
//   Resolution   from names to the numbers of a model, and what follows from them
//   Filtering    predicates asked about objects and dictionaries
//   Coding       predicates and requests as bytes
//   Typed        requests written with key paths of classes
