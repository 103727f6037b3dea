import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Returns the objects of a plan after applying in memory the conditions that stores cannot evaluate, sorted and limited.
  ///
  /// - Parameter storedIDs: The IDs that the stores have already returned, by ID space.
  func filtered(_ plan: FetchMergePlan, _ split: FetchSplit, storedIDs: [UInt32: [ManagedObjectID]]? = nil) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    let limit = plan.needsMerging || plan.sortsInMemory ? .max : plan.window(of: .max).upperBound
    try forEachFiltered(plan, split, limit: limit, storedIDs: storedIDs) { objects.append($0) }
    return try assembled(plan, stored: objects)
  }

  /// Visits the stored objects that satisfy the remaining conditions, in the order of the stores. Skips changed objects.
  ///
  /// Reads rows in pages and releases those of objects that do not match.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of visits.
  ///   - storedIDs: The IDs that the stores have already returned, by ID space.
  func forEachFiltered(
    _ plan: FetchMergePlan, _ split: FetchSplit, limit: Int = .max, storedIDs: [UInt32: [ManagedObjectID]]? = nil,
    _ body: (ManagedObject) -> Void
  ) throws {
    let entity = try entity(of: plan.specification)
    let resolver = FetchResolver(model: model, transientKeys: .allowed)
    let evaluator = PredicateEvaluator(try resolver.resolve(split.remaining, entity: entity), resolver: ManagedObjectResolver())
    let specification = plan.storeSpecification
    var found = 0
    for store in plan.stores where found < limit {
      var rest = try self.storedIDs(specification, in: store, known: storedIDs)[...]
      while !rest.isEmpty, found < limit {
        let page = rest.prefix(FaultGroups.faultBatch)
        rest = rest.dropFirst(page.count)
        for case let object? in try objects(with: page, refresh: specification.shouldRefreshRefetchedObjects) where found < limit {
          if plan.isSuperseded(object) { continue }
          if try evaluator.matches(object) {
            found += 1
            body(object)
          }
        }
      }
    }
  }
}
