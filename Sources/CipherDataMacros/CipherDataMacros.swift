// CipherDataMacros: the macros of the trait Macros, which turn annotated classes into entities.
//
// The floors, from the bottom up:
//
//   Shapes       what an annotated class and its properties say
//   (the root)   the macros
