// FetchShape: the structure of a fetch without its constants, the key of plan caches.
package import ObjectModel

/// Two fetches of one shape differ in constants, limits' values and list lengths of one size class only, so they share a plan.
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
  /// Whether it ends within the first ``fewResults``, which a plan may find in another way than more.
  package let asksForFew: Bool
  package let hasOffset: Bool
  /// The size classes of the constants that are lists, by ``listCapacity(for:)``, 0 for single values.
  package let listCapacities: [Int]

  /// The shape of a resolved fetch.
  ///
  /// - Parameters:
  ///   - fetch: The resolved fetch.
  ///   - specification: What it was resolved from.
  package init(_ fetch: ResolvedFetch, specification: FetchSpecification) {
    entity = fetch.entity.number
    includesSubentities = fetch.includesSubentities
    predicate = fetch.predicate
    sortKeys = fetch.sortKeys
    resultType = specification.resultType
    projection = fetch.projection
    includesPropertyValues = specification.includesPropertyValues
    hasLimit = specification.fetchLimit > 0
    asksForFew = hasLimit && specification.fetchLimit <= Self.fewResults && specification.fetchOffset <= Self.fewResults
    hasOffset = specification.fetchOffset > 0
    listCapacities = fetch.constants.map { constant in
      switch constant {
      case .slot, .object: 0
      case .slots(let slots): FetchShape.listCapacity(for: slots.count)
      case .objects(let objects): FetchShape.listCapacity(for: objects.count)
      }
    }
  }

  /// The greatest limit and offset of a fetch that asks for few results.
  package static var fewResults: Int { 5_000 }

  /// How many parameters a list of a length is written with: the next power of two (a plan fills the rest with the last member); -1 above 256,
  /// where a plan should not write parameters at all.
  package static func listCapacity(for count: Int) -> Int {
    guard count <= 256 else { return -1 }
    var capacity = 1
    while capacity < count { capacity *= 2 }
    return capacity
  }
}
