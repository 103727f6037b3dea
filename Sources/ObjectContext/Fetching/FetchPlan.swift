// FetchPlan: what a fetch needs beyond one store's answer: unsaved changes, several stores, an order over both.
import ObjectModel
import ObjectQuery
import ObjectStore

/// What a fetch needs beyond one store's answer.
struct FetchPlan {
  let specification: FetchSpecification
  let stores: [PersistentStore]
  /// The number of changed objects of the entity that are not deleted: their rows in the store do not count.
  let changedCount: Int
  /// Those of them that may meet the predicate, in the order of their changes.
  private let candidates: [ManagedObject]
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
    var resolved: ResolvedFetch?
    var required: RequiredValue?
    var candidates: [ManagedObject] = []
    var (changed, gone) = (0, 0)
    func note(_ object: ManagedObject) throws {
      changed += 1
      if resolved == nil {
        let fetch = try FetchResolver(model: context.model, transientKeys: .allowed).resolve(specification)
        (resolved, required) = (fetch, RequiredValue(fetch))
      }
      if required?.mayBe(of: object) ?? true { candidates.append(object) }
    }
    if specification.includesPendingChanges, !context.unitOfWork.isEmpty {
      for object in context.unitOfWork.inserted where numbers.contains(Int(object.currentID.entityNumber)) && object.isInserted {
        try note(object)
      }
      for object in context.unitOfWork.updated where numbers.contains(Int(object.currentID.entityNumber)) && object.isUpdated {
        try note(object)
      }
      for object in context.unitOfWork.deleted where numbers.contains(Int(object.currentID.entityNumber)) && object.isDeleted { gone += 1 }
    }
    if resolved == nil, stores.count > 1 {
      resolved = try FetchResolver(model: context.model, transientKeys: .allowed).resolve(specification)
    }
    self.resolved = resolved
    self.candidates = candidates
    changedCount = changed
    goneCount = gone
  }

  /// Whether unsaved changes bear on the answer.
  var hasRelevantChanges: Bool { changedCount > 0 || goneCount > 0 }

  /// Whether one store's answer is not the answer.
  var needsMerging: Bool { hasRelevantChanges || stores.count > 1 }

  /// What each store is asked for where its answer has to be merged.
  var storeSpecification: FetchSpecification {
    var specification = specification
    if specification.resultType == .count || specification.resultType == .dictionaries { specification.resultType = .objectIDs }
    // Of each store the window's rows and as many more as changes may take away.
    if specification.fetchLimit > 0 { specification.fetchLimit += specification.fetchOffset + changedCount + goneCount }
    specification.fetchOffset = 0
    return specification
  }

  /// The changed objects that meet the predicate.
  func changedMatches() throws -> [ManagedObject] {
    guard let resolved, !candidates.isEmpty else { return [] }
    let evaluator = PredicateEvaluator(resolved, resolver: LivingObjectResolver())
    return try candidates.filter { try evaluator.matches($0) }
  }

  /// Whether the row of a stored object does not count, because the object is changed or deleted.
  func isSuperseded(_ object: ManagedObject) -> Bool { !object.flags.isDisjoint(with: [.isUpdated, .isDeleted]) }

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

/// A value that a predicate asks of an attribute of each object, so that others need not be evaluated. Looking for an object before it is made, one
/// fetch after the other over a growing number of new objects, depends on it.
private struct RequiredValue {
  private let slot: Int
  private let value: Slot

  init?(_ fetch: ResolvedFetch) {
    let conditions: [ResolvedPredicate] =
      switch fetch.predicate {
      case .and(let conditions): conditions
      case let condition: [condition]
      }
    for condition in conditions {
      guard case .comparison(let comparison) = condition, comparison.op == .equal, !comparison.isNegated, comparison.options.isEmpty,
        case .path(let path) = comparison.left, path.scope == 0, path.steps.isEmpty, case .attribute(let attribute) = path.terminal,
        case .expression(.constant(let number, _)) = comparison.right, case .slot(let value) = fetch.constants[number]
      else { continue }
      switch (value, attribute.slot.kind, comparison.domain) {
      case (.text, .text, .text), (.int, .int, .number), (.bytes, .bytes, .bytes): break
      default: continue
      }
      slot = attribute.slot.index
      self.value = value
      return
    }
    return nil
  }

  /// Whether an object may have the value. Texts that look alike may differ in their bytes, which the evaluator knows.
  func mayBe(of object: ManagedObject) -> Bool {
    guard let found = object.slotValueAtHand(slot) else { return true }
    return found == value
  }
}
