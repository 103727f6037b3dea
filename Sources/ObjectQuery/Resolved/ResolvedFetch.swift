package import ObjectModel

/// A fetch that was checked against a model. It has numbers instead of names, and constants outside the predicate tree.
///
/// The tree contains the indexes of its constants. Trees of fetches that differ only in constants are therefore equal: ``shape`` is the key
/// of a plan cache.
package struct ResolvedFetch: Sendable {
  /// The fetched entity.
  package var entity: CompiledEntity
  /// Whether objects of subentities are included.
  package var includesSubentities: Bool
  /// The condition.
  package var predicate: ResolvedPredicate
  /// The columns and groups of a dictionary fetch; nil for other fetches, and for counts that they do not affect.
  package var projection: ResolvedProjection?
  /// The sort keys of the objects or, in a grouped fetch, of the groups.
  package var sortKeys: [ResolvedSortKey]
  /// The constants, by their index in the tree. Some may be unused.
  package var constants: [ResolvedConstant]
  /// The key paths of the transient attributes that the fetch reads, which stores do not support.
  package var transientKeyPaths: [String]

  package init(
    entity: CompiledEntity, includesSubentities: Bool, predicate: ResolvedPredicate, projection: ResolvedProjection? = nil,
    sortKeys: [ResolvedSortKey], constants: [ResolvedConstant], transientKeyPaths: [String] = []
  ) {
    self.entity = entity
    self.includesSubentities = includesSubentities
    self.predicate = predicate
    self.projection = projection
    self.sortKeys = sortKeys
    self.constants = constants
    self.transientKeyPaths = transientKeyPaths
  }
}

/// A constant in the form that its comparison requires.
package enum ResolvedConstant: Sendable, Hashable {
  /// A value. It is null only as an argument of a function.
  case slot(Slot)
  /// A list without nulls and duplicates, in ascending order of the comparison's domain.
  case slots([Slot])
  /// An object of the destination's entity tree. A temporary object, or one of another store, equals no object of this store.
  case object(ManagedObjectID)
  /// A list of objects without duplicates.
  case objects([ManagedObjectID])
}

/// A sort key. Missing values come first in ascending order, and last in descending order.
package struct ResolvedSortKey: Sendable, Hashable {
  /// A path or a count. Objects are sorted by key.
  package var expression: ResolvedExpression
  /// Whether lower values come first.
  package var isAscending: Bool
  /// The order of strings; ``TextOrder/binary`` for other values.
  package var order: TextOrder

  package init(expression: ResolvedExpression, isAscending: Bool, order: TextOrder) {
    self.expression = expression
    self.isAscending = isAscending
    self.order = order
  }
}
