// AccessorSymbols: the symbols of `@NSManaged` declarations in Swift sources, by which their accessors are found.
//
// The floors, from the bottom up:
//
//   Mangling     symbols of members and their types
//   Scanning     what Swift sources declare
//   Resolution   written types as those of modules
//   Accessors    the accessors that a module needs
//   Emission     these as Swift
//   Porting      what has to change in sources before they compile on Linux
