/// The access level of a declaration.
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
  /// Whether only the declaration's file can use it, which its symbol then encodes.
  package var isOfFile: Bool { self <= .fileprivate }
}

/// The types that contain a declaration.
package struct DeclarationContext: Sendable {
  /// Their names as written, outermost first.
  package var path: [String] = []
  /// Whether the innermost one is an extension.
  package var isExtension = false
  /// Whether one of them is private to its file.
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
  /// The types after its colon.
  package var inherited: [TypeSyntax]
  package var access: DeclaredAccess
  package var isGeneric: Bool
  /// The `#if` conditions of the declaration, outermost first.
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
    /// A property; `nil` if the declaration has no type.
    case property(TypeSyntax?)
    case method([Parameter], result: TypeSyntax)
  }
  package var context: DeclarationContext
  package var name: String
  package var kind: Kind
  package var access: DeclaredAccess
  /// The explicit access level of the setter, if any.
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

/// The declarations of a Swift source that managed properties and their types depend on.
package struct ScannedSource: Sendable {
  package var file: String
  package var imports: [DeclaredImport] = []
  package var types: [DeclaredType] = []
  package var managed: [ManagedDeclaration] = []
  /// The lines with `@NSManaged` in classes that functions declare.
  package var managedInFunctions: [Int] = []
  /// Whether the source names models in the form that Apple's tools compile.
  package var namesCompiledModels = false
  /// Whether the source replaces files with the file manager.
  package var replacesItems = false
  /// Whether its `@NSManaged` properties are compiled with their own accessors.
  package var hasOwnAccessors: Bool

  /// Scans a source.
  ///
  /// - Parameters:
  ///   - source: The text of the source.
  ///   - file: The path of the file. Its last component is part of the symbols of private declarations.
  ///   - hasOwnAccessors: Whether its `@NSManaged` properties are compiled with their own accessors.
  package init(_ source: String, file: String, hasOwnAccessors: Bool = false) {
    (self.file, self.hasOwnAccessors) = (file, hasOwnAccessors)
    replacesItems = source.contains("replaceItem")
    namesCompiledModels = source.contains("momd") || source.contains("\"mom\"")
    var scanner = DeclarationScanner(SourceLexer.tokens(of: source), self)
    scanner.run()
    self = scanner.result
  }
}

/// A type as written in a source.
package indirect enum TypeSyntax: Hashable, Sendable {
  /// A name, possibly qualified, such as `Foundation.Date`.
  case named([String], arguments: [TypeSyntax])
  case optional(TypeSyntax)
  case array(TypeSyntax)
  case dictionary(TypeSyntax, TypeSyntax)
  case tuple([TypeSyntax])
  /// `any P`.
  case any(TypeSyntax)
  /// A type that a managed property cannot have, such as a function type.
  case unsupported(String)

  /// The type in Swift syntax.
  package var text: String {
    switch self {
    case .named(let names, let arguments):
      names.map(Self.quoted).joined(separator: ".") + (arguments.isEmpty ? "" : "<\(arguments.map(\.text).joined(separator: ", "))>")
    case .optional(.any(let wrapped)): "(any \(wrapped.text))?"
    case .optional(let wrapped): wrapped.text + "?"
    case .array(let element): "[\(element.text)]"
    case .dictionary(let key, let value): "[\(key.text): \(value.text)]"
    case .tuple(let elements): "(\(elements.map(\.text).joined(separator: ", ")))"
    case .any(let type): "any \(type.text)"
    case .unsupported(let text): text
    }
  }

  /// Returns a name, in backticks if it is a keyword.
  private static func quoted(_ name: String) -> String {
    ["Type", "Protocol", "default", "in", "is", "as", "class", "struct", "enum", "func", "let", "var"].contains(name) ? "`\(name)`" : name
  }
}
