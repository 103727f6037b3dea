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
