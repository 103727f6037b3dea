// IndexedType: a type of scanned sources, with its place.

/// A type of scanned sources.
struct IndexedType: Sendable {
  /// The type, or the alias as if it were one.
  var nominal: MangledNominal
  var kind: DeclaredType.Kind
  var inherited: [TypeSyntax]
  var access: DeclaredAccess
  /// Whether it, or one of those that it is nested in, is private to its file.
  var isOfFile: Bool
  var isGeneric: Bool
  /// Where it is declared.
  var module: String
  var file: String
  var line: Int
  var conditions: [String]

  /// Whether a file of a module may name it.
  func isVisible(from file: String, of module: String) -> Bool {
    if isOfFile { return self.file == file }
    // A package's own modules see what it has for itself; another's sources do not compile where they are named all the same.
    return self.module == module || access >= .package
  }
}
