// ObjectQuery: fetch requests and predicates: as values, as text, resolved against a model, evaluated in memory.
//
// The layers, from the bottom up:
//
//   Predicate    predicates and expressions as values
//   Text         folding, matching and searching text
//   Request      fetch requests as values
//   Format       parsing and printing predicates
//   Resolved     predicates and requests with a model's numbers instead of names
//   Evaluation   comparing values, and in-memory evaluation of resolved predicates
//   Resolution   resolving names to numbers of a model
//   Filtering    evaluating predicates on objects and dictionaries
//   Coding       encoding and decoding predicates and requests
//   Typed        requests written with key paths of classes
