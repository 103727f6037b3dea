// CipherDataMacros: the macros of the trait Macros, which turn annotated classes into entities.
//
// The layers, from the bottom up:
//
//   Shapes       parsing annotated classes and their properties
//   (the root)   the macros
