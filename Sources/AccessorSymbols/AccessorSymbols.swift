// AccessorSymbols: the symbols of `@NSManaged` declarations in Swift sources, by which their accessors are found.
//
// The layers, from the bottom up:
//
//   Mangling     symbols of members and their types
//   Scanning     declarations in Swift sources
//   Resolution   resolving written types to those of modules
//   Accessors    the accessors that a module needs, and generating Swift for them
//   Porting      changes that sources need to compile on Linux
