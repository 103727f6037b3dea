package import ObjectModel

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
