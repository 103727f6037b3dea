// FetchPlan: what a fetch needs beyond one store's answer: unsaved changes, several stores, an order over both.
import ObjectModel
import ObjectQuery
import ObjectStore

/// What a fetch needs beyond one store's answer.
struct FetchPlan {
  let specification: FetchSpecification
  let stores: [PersistentStore]
  /// The changed objects of the entity that are not deleted: their rows in the store do not count.
  let changed: Set<ManagedObject>
  /// The changed objects in the order of their changes.
  private let changedInOrder: [ManagedObject]
  /// Deleted objects of the entity.
  let goneCount: Int
  private let resolved: ResolvedFetch?
  private let model: CompiledModel

  init(_ specification: FetchSpecification, context: ManagedObjectContext) throws {
    self.specification = specification
    model = context.model
    let entity = try context.entity(of: specification)
    stores = context.coordinator.stores(holding: entity, affectedStores: specification.affectedStores)
    let numbers = specification.includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    var objects: [ManagedObject] = []
    var gone = 0
    if specification.includesPendingChanges, !context.unitOfWork.isEmpty {
      for object in context.unitOfWork.inserted where numbers.contains(Int(object.currentID.entityNumber)) && object.isInserted {
        objects.append(object)
      }
      for object in context.unitOfWork.updated where numbers.contains(Int(object.currentID.entityNumber)) && object.isUpdated {
        objects.append(object)
      }
      for object in context.unitOfWork.deleted where numbers.contains(Int(object.currentID.entityNumber)) && object.isDeleted { gone += 1 }
    }
    changed = Set(objects)
    changedInOrder = objects
    goneCount = gone
    let needsResolution = !objects.isEmpty || stores.count > 1
    resolved = needsResolution ? try FetchResolver(model: context.model, transientKeys: .allowed).resolve(specification) : nil
  }

  /// Whether unsaved changes bear on the answer.
  var hasRelevantChanges: Bool { !changed.isEmpty || goneCount > 0 }

  /// Whether one store's answer is not the answer.
  var needsMerging: Bool { hasRelevantChanges || stores.count > 1 }

  /// The changed objects that meet the predicate.
  func changedMatches() throws -> [ManagedObject] {
    guard let resolved else { return [] }
    let evaluator = PredicateEvaluator(resolved, resolver: LivingObjectResolver())
    return try changedInOrder.filter { try evaluator.matches($0) }
  }

  /// Brings the stores' objects, which are in order store by store, and the changed ones into one order.
  func sort(stored: [ManagedObject], changed: [ManagedObject]) throws -> [ManagedObject] {
    guard let resolved, !resolved.sortKeys.isEmpty, !changed.isEmpty || stores.count > 1 else { return stored + changed }
    let order = ObjectOrder(resolved, resolver: LivingObjectResolver())
    if stores.count > 1 { return try order.sorted(stored + changed) }
    // Merging keeps the store's order; each object's values are read once.
    var result: [ManagedObject] = []
    result.reserveCapacity(stored.count + changed.count)
    let arriving = try order.sorted(changed)
    let arrivingValues = try arriving.map(order.values)
    var next = 0
    for object in stored {
      if next < arriving.count {
        let values = try order.values(of: object)
        while next < arriving.count, order.compare(arrivingValues[next], values) < 0 {
          result.append(arriving[next])
          next += 1
        }
      }
      result.append(object)
    }
    result.append(contentsOf: arriving[next...])
    return result
  }

  /// The part of the results that offset and limit leave.
  func windowed<Element>(_ results: [Element]) -> [Element] {
    let start = min(specification.fetchOffset, results.count)
    let end = specification.fetchLimit > 0 ? min(start + specification.fetchLimit, results.count) : results.count
    return start == 0 && end == results.count ? results : Array(results[start..<end])
  }
}
