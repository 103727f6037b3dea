// TypedManagedObject+Snapshot: snapshots whose to-many relationships are named by key paths.
import ObjectQuery

extension TypedManagedObject {
  /// The object's values as they are now, unsaved changes included, with the members of the to-many relationships that key paths lead to:
  /// `try book.snapshot(including: [\.tags])`. Fires a fault.
  ///
  /// Generated classes have a function of the same name that gives a typed snapshot.
  ///
  /// - Parameter relationships: The to-many relationships whose members the snapshot has, as IDs. They are read if need be.
  /// - Throws: What ``ManagedObject/snapshot(including:)`` throws; ``FetchPredicateError/unsupported(part:advice:)`` for a key path of no property of the model.
  @_disfavoredOverload public func snapshot(including relationships: [PartialKeyPath<Self>]) throws -> ObjectSnapshot {
    try _snapshot(including: relationships)
  }

  /// The object's values: what the functions of generated classes call.
  ///
  /// - Throws: What ``snapshot(including:)`` throws.
  public func _snapshot(including relationships: [PartialKeyPath<Self>]) throws -> ObjectSnapshot {
    try _snapshot(including: Self.names(of: relationships))
  }

  /// The names of relationships that key paths lead to. One of several steps has a name that no relationship has.
  static func names(of relationships: [PartialKeyPath<Self>]) throws(FetchPredicateError) -> [String] {
    var names: [String] = []
    for relationship in relationships { names.append(try keys(of: relationship).joined(separator: ".")) }
    return names
  }
}
