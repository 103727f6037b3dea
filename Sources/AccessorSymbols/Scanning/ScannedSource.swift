// ScannedSource: what a Swift source declares, as far as managed properties and their types need it.

/// Who may use a declaration.
package enum DeclaredAccess: String, Comparable, Sendable {
  case `private`, `fileprivate`, `internal`, package, `public`, open

  private var order: Int {
    switch self {
    case .private: 0
    case .fileprivate: 1
    case .internal: 2
    case .package: 3
    case .public: 4
    case .open: 5
    }
  }
  package static func < (left: DeclaredAccess, right: DeclaredAccess) -> Bool { left.order < right.order }
  /// Whether only the declaration's own file may use it, which its symbol then tells.
  package var isOfFile: Bool { self <= .fileprivate }
}

/// The types that a declaration stands in.
package struct DeclarationContext: Sendable {
  /// Their names, from the outermost on, as they are written.
  package var path: [String] = []
  /// Whether the innermost is an extension.
  package var isExtension = false
  /// Whether one of them is for its file only.
  package var isOfFile = false
  /// Whether one of them is generic.
  package var isGeneric = false
}

/// A type that a source declares.
package struct DeclaredType: Sendable {
  package enum Kind: Sendable {
    case nominal(NominalKind)
    case alias(TypeSyntax)
  }
  package var context: DeclarationContext
  package var name: String
  package var kind: Kind
  /// What stands behind its colon.
  package var inherited: [TypeSyntax]
  package var access: DeclaredAccess
  package var isGeneric: Bool
  /// The conditions that `#if` puts on it, from the outermost on.
  package var conditions: [String]
  package var line: Int
}

/// A property or method with `@NSManaged`.
package struct ManagedDeclaration: Sendable {
  package struct Parameter: Sendable {
    package var label: String?
    package var type: TypeSyntax
  }
  package enum Kind: Sendable {
    /// A property; nil where no type is written.
    case property(TypeSyntax?)
    case method([Parameter], result: TypeSyntax)
  }
  package var context: DeclarationContext
  package var name: String
  package var kind: Kind
  package var access: DeclaredAccess
  /// Who may set it, where that is said.
  package var setterAccess: DeclaredAccess?
  package var conditions: [String]
  package var line: Int
}

/// A module that a source imports.
package struct DeclaredImport: Hashable, Sendable {
  package var module: String
  package var isTestable: Bool
  package var conditions: [String]
}

/// What a Swift source declares.
package struct ScannedSource: Sendable {
  /// The file's path.
  package var file: String
  package var imports: [DeclaredImport] = []
  package var types: [DeclaredType] = []
  package var managed: [ManagedDeclaration] = []
  /// The lines with `@NSManaged` in classes that functions declare.
  package var managedInFunctions: [Int] = []
  /// Whether it names models as Apple's tools compile them.
  package var namesCompiledModels = false
  /// Whether the source replaces files by the file manager.
  package var replacesItems = false
  /// Whether its managed properties are written with accessors of their own in the end.
  package var hasOwnAccessors: Bool

  /// Reads a source.
  ///
  /// - Parameters:
  ///   - source: The text.
  ///   - file: The path of its file, whose last name is in the symbols of private declarations.
  ///   - hasOwnAccessors: Whether its managed properties are written with accessors of their own in the end.
  package init(_ source: String, file: String, hasOwnAccessors: Bool = false) {
    (self.file, self.hasOwnAccessors) = (file, hasOwnAccessors)
    replacesItems = source.contains("replaceItem")
    namesCompiledModels = source.contains("momd") || source.contains("\"mom\"")
    var scanner = DeclarationScanner(SourceLexer.tokens(of: source), self)
    scanner.run()
    self = scanner.result
  }
}
