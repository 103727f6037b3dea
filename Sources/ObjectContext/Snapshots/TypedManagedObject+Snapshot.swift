import ObjectQuery

extension TypedManagedObject {
  /// Returns a snapshot of the object's current values, including unsaved changes and the members of to-many relationships, given as key
  /// paths: `try book.snapshot(including: [\.tags])`. Fires a fault.
  ///
  /// Generated classes have a method of the same name that returns a typed snapshot.
  ///
  /// - Parameter relationships: The to-many relationships whose members to include, as IDs. Members that are not loaded are read from the
  ///   store.
  /// - Throws: The errors of ``ManagedObject/snapshot(including:)``; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a
  ///   property that is not in the model.
  @_disfavoredOverload public func snapshot(including relationships: [PartialKeyPath<Self>]) throws -> ObjectSnapshot {
    try untypedSnapshot(including: relationships)
  }

  /// Returns a snapshot of the object's values. Called by generated classes.
  ///
  /// - Throws: The errors of ``snapshot(including:)``.
  @_spi(Generated) public func untypedSnapshot(including relationships: [PartialKeyPath<Self>]) throws -> ObjectSnapshot {
    try untypedSnapshot(including: Self.names(of: relationships))
  }

  /// Returns the names of relationships given as key paths. A key path of several steps yields a dotted name, which matches no
  /// relationship.
  static func names(of relationships: [PartialKeyPath<Self>]) throws(FetchPredicateError) -> [String] {
    var names: [String] = []
    for relationship in relationships { names.append(try keys(of: relationship).joined(separator: ".")) }
    return names
  }
}
