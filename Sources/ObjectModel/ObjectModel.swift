// ObjectModel: entities and their properties: described, read from files, validated, and frozen into numbers.
//
// The floors, from the bottom up:
//
//   Advice        what errors tell an application's user and its developer
//   Values        the types of attributes, and stored values
//   Description   models, entities and properties as they are declared
//   ModelFile     models as files, and in versions
//   Derivation    what derived attributes are computed with
//   Validation    the rules that models and values must keep
//   Compiled      a valid model in numbers, and the hashes of its entities
//   Conversion    values of applications as stored values, and back
//   Identity      the identifiers of objects
//   Difference    models compared and merged
//   Printing      models as text and as diagrams
//   Builder       models written in Swift
