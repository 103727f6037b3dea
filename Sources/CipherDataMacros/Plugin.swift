// Plugin: the program that the compiler asks to expand macros; empty without the trait Macros.

#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntaxMacros

  /// The macros.
  @main struct CipherDataMacros: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
      EntityMacro.self, CompositeMacro.self, MarkerMacro.self, EntityPropertyMacro.self, ConditionMacro.self,
    ]
  }
#else
  /// Nothing.
  @main struct CipherDataMacros {
    static func main() {}
  }
#endif
