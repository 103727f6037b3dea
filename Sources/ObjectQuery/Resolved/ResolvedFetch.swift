// ResolvedFetch: a fetch checked against a model, ready for a store's generator or for evaluation in memory.
package import ObjectModel

/// What a fetch asks, resolved: numbers instead of names, constants beside the tree.
///
/// The tree holds the numbers of its constants, so trees of fetches that differ in constants only are equal: ``shape`` is the key of a plan cache.
package struct ResolvedFetch: Sendable {
  /// The entity asked.
  package var entity: CompiledEntity
  /// Whether objects of subentities count.
  package var includesSubentities: Bool
  /// The condition.
  package var predicate: ResolvedPredicate
  /// What a fetch of dictionaries makes of the objects; nil for other fetches, and for counts that it does not change.
  package var projection: ResolvedProjection?
  /// The order; of the groups where there are any.
  package var sortKeys: [ResolvedSortKey]
  /// The constants by the numbers in the tree. Some may be unused.
  package var constants: [ResolvedConstant]
  /// The names of the transient attributes that are read: no store can answer those.
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

/// A constant in the form its comparison needs.
package enum ResolvedConstant: Sendable, Hashable {
  /// One value, never null unless a function takes it.
  case slot(Slot)
  /// A list without nulls and duplicates, ascending by the comparison's domain.
  case slots([Slot])
  /// An object of the destination's entity tree. It may be temporary or of another store: such an object equals none of this store.
  case object(ManagedObjectID)
  /// Several of them, without duplicates.
  case objects([ManagedObjectID])
}

/// One key of an order: values without a value first when ascending, last when descending.
package struct ResolvedSortKey: Sendable, Hashable {
  /// A path, or a count. An object orders by its key.
  package var expression: ResolvedExpression
  /// Whether lower values come first.
  package var isAscending: Bool
  /// How texts are ordered; ``TextOrder/binary`` for all other values.
  package var order: TextOrder

  package init(expression: ResolvedExpression, isAscending: Bool, order: TextOrder) {
    self.expression = expression
    self.isAscending = isAscending
    self.order = order
  }
}
