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

/// The structure of a fetch without its constants, used as the key of plan caches.
///
/// Fetches of the same shape share a plan. They differ only in constants, the values of limits, and the lengths of lists within one size
/// class.
package struct FetchShape: Sendable, Hashable {
  /// The number of the entity.
  package let entity: Int
  package let includesSubentities: Bool
  package let predicate: ResolvedPredicate
  package let sortKeys: [ResolvedSortKey]
  package let resultType: FetchResultType
  package let projection: ResolvedProjection?
  package let includesPropertyValues: Bool
  package let hasLimit: Bool
  /// Whether the limit and the offset are within ``fewResults``. For few results a different plan may be better.
  package let expectsFewRows: Bool
  package let hasOffset: Bool
  /// The size classes of list constants, from ``listCapacity(for:)``; 0 for single values.
  package let listCapacities: [Int]

  /// Creates the shape of a resolved fetch.
  ///
  /// - Parameters:
  ///   - fetch: The resolved fetch.
  ///   - specification: The specification that it was resolved from.
  package init(_ fetch: ResolvedFetch, specification: FetchSpecification) {
    entity = fetch.entity.number
    includesSubentities = fetch.includesSubentities
    predicate = fetch.predicate
    sortKeys = fetch.sortKeys
    resultType = specification.resultType
    projection = fetch.projection
    includesPropertyValues = specification.includesPropertyValues
    hasLimit = specification.fetchLimit > 0
    expectsFewRows = hasLimit && specification.fetchLimit <= Self.fewResults && specification.fetchOffset <= Self.fewResults
    hasOffset = specification.fetchOffset > 0
    listCapacities = fetch.constants.map { constant in
      switch constant {
      case .slot, .object: 0
      case .slots(let slots): FetchShape.listCapacity(for: slots.count)
      case .objects(let objects): FetchShape.listCapacity(for: objects.count)
      }
    }
  }

  /// The maximum limit and offset of a fetch that counts as having few results.
  package static var fewResults: Int { 5_000 }

  /// Returns the number of parameters for a list: the next power of two. Plans fill the rest with the last member. Returns -1 above 256,
  /// where a plan should not use parameters.
  package static func listCapacity(for count: Int) -> Int {
    guard count <= 256 else { return -1 }
    var capacity = 1
    while capacity < count { capacity *= 2 }
    return capacity
  }
}
