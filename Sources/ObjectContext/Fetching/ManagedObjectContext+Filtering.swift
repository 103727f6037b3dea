// ManagedObjectContext+Filtering: fetches that stores can answer in part only.
import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// The objects of a plan whose remaining conditions are asked here, sorted and windowed.
  func filtered(_ plan: FetchPlan, _ split: FetchSplit) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    let limit = plan.needsMerging || plan.sortsAnew ? .max : plan.window(of: .max).upperBound
    try forEachFiltered(plan, split, limit: limit) { objects.append($0) }
    return try assembled(plan, stored: objects)
  }

  /// Visits the stored objects that meet what the stores could not be asked, in the stores' order, and without changed ones.
  ///
  /// Rows are read in pages; those of objects that do not meet it are let go.
  /// - Parameter limit: After how many the visit ends.
  func forEachFiltered(_ plan: FetchPlan, _ split: FetchSplit, limit: Int = .max, _ body: (ManagedObject) -> Void) throws {
    let entity = try entity(of: plan.specification)
    let resolver = FetchResolver(model: model, transientKeys: .allowed)
    let evaluator = PredicateEvaluator(try resolver.resolve(split.remaining, entity: entity), resolver: LivingObjectResolver())
    let specification = plan.storeSpecification
    var found = 0
    for store in plan.stores where found < limit {
      guard case .objectIDs(let ids) = try coordinator.fetch(specification, from: store, scope: scope(for: store)) else {
        throw unexpectedResult()
      }
      var rest = ids[...]
      while !rest.isEmpty, found < limit {
        let page = rest.prefix(Self.faultBatch)
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
