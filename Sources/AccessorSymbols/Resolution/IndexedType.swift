/// A type that scanned sources declare.
struct IndexedType: Sendable {
  /// The type; for a type alias, a nominal type of its name.
  var nominal: MangledNominal
  var kind: DeclaredType.Kind
  var inherited: [TypeSyntax]
  var access: DeclaredAccess
  /// Whether the type or an enclosing type is private to its file.
  var isOfFile: Bool
  var isGeneric: Bool
  /// The module that declares the type.
  var module: String
  var file: String
  var line: Int
  var conditions: [String]

  /// Returns whether a file of a module can refer to the type.
  func isVisible(from file: String, of module: String) -> Bool {
    if isOfFile { return self.file == file }
    // Modules of the same package see `package` declarations; if another package's sources use them, they do not compile anyway.
    return self.module == module || access >= .package
  }
}
