// ModelCodeGeneration: typed Swift classes out of a model.
//
// The floors, from the bottom up:
//
//   Text            Swift as text, and what it is to look like
//   Configuration   the file by which a target names its models
//   Plans           which classes, fields and types there will be
//   Emitters        plans as Swift
//   (the root)      all files of a model
