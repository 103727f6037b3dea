// ManagedObjectContext+Filtering: fetches that stores can answer in part only.
import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// The objects of a plan whose remaining conditions are asked here, sorted and windowed.
  ///
  /// - Parameter storedIDs: What the stores have answered already, by their spaces.
  func filtered(_ plan: FetchMergePlan, _ split: FetchSplit, storedIDs: [UInt32: [ManagedObjectID]]? = nil) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    let limit = plan.needsMerging || plan.sortsAnew ? .max : plan.window(of: .max).upperBound
    try forEachFiltered(plan, split, limit: limit, storedIDs: storedIDs) { objects.append($0) }
    return try assembled(plan, stored: objects)
  }

  /// Visits the stored objects that meet what the stores could not be asked, in the stores' order, and without changed ones.
  ///
  /// Rows are read in pages; those of objects that do not meet it are let go.
  /// - Parameters:
  ///   - limit: After how many the visit ends.
  ///   - storedIDs: What the stores have answered already, by their spaces.
  func forEachFiltered(
    _ plan: FetchMergePlan, _ split: FetchSplit, limit: Int = .max, storedIDs: [UInt32: [ManagedObjectID]]? = nil,
    _ body: (ManagedObject) -> Void
  ) throws {
    let entity = try entity(of: plan.specification)
    let resolver = FetchResolver(model: model, transientKeys: .allowed)
    let evaluator = PredicateEvaluator(try resolver.resolve(split.remaining, entity: entity), resolver: LivingObjectResolver())
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
