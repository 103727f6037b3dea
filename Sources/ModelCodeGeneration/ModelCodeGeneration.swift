// ModelCodeGeneration: generating typed Swift classes from a model.
//
// The layers, from the bottom up:
//
//   Text            writing Swift source text, and its options
//   Configuration   the file in which a target names its models
//   Plans           planning classes, fields and types
//   Emitters        writing plans as Swift, and the versions of a model
//   (the root)      all files of a model
