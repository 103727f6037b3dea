// ObjectModel: entities and properties: descriptions, model files, validation, and the compiled model.
//
// The layers, from the bottom up:
//
//   Advice        advice in errors for users and developers
//   Values        attribute types and stored values
//   Description   models, entities and properties as declared
//   ModelFile     model files and their versions
//   Validation    rules for models and values, and warnings
//   Compiled      valid models with numbered entities and properties, and version hashes
//   Conversion    conversion between an application's values and stored values
//   Identity      object identifiers
//   Difference    comparing and merging models
//   Printing      models as text and diagrams
//   Builder       models written in Swift
