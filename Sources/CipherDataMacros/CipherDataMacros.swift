// CipherDataMacros: the macros of the trait Macros, which turn annotated classes into entities.
//
// The layers, from the bottom up:
//
//   Shapes       parsing annotated classes and their properties
//   (the root)   the macros

#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntaxMacros

  @main struct CipherDataMacros: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
      EntityMacro.self, CompositeMacro.self, MarkerMacro.self, EntityPropertyMacro.self, ConditionMacro.self,
    ]
  }
#else
  /// The empty program that is built without the trait `Macros`.
  @main struct CipherDataMacros {
    static func main() {}
  }
#endif
