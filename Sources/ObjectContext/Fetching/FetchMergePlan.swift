// FetchMergePlan: what a fetch needs beyond one store's answer: unsaved changes, several stores, an order over both.
import ObjectModel
import ObjectQuery
import ObjectStore

/// What a fetch needs beyond one store's answer.
struct FetchMergePlan {
  let specification: FetchSpecification
  /// At least one.
  let stores: [PersistentStore]
  /// What the stores are asked and what remains, where they cannot answer everything.
  let split: FetchSplit?
  /// The number of objects of the entity whose rows in the store do not count: changed ones that are not deleted, and those that unsaved changes of related
  /// objects concern.
  let changedCount: Int
  /// Those of them that may meet the predicate, in the order of their changes.
  private let candidates: [ManagedObject]
  /// Deleted objects of the entity.
  let goneCount: Int
  private let resolved: ResolvedFetch?
  /// The IDs of saved objects whose rows do not count, for a count.
  private let superseded: [ManagedObjectID]
  /// Objects without changes of their own that unsaved changes of related objects concern. Held while the plan is used.
  private let concerned: Set<ManagedObject>

  /// - Parameter countsRelatedChanges: Whether unsaved changes of objects that the request leads to through relationships count.
  init(_ specification: FetchSpecification, context: ManagedObjectContext, countsRelatedChanges: Bool = true) throws {
    // The stores may be asked without the limit and the offset, or after unsaved changes were applied.
    try specification.checkNumbers()
    self.specification = specification
    let entity = try context.entity(of: specification)
    stores = try context.rowSource.openStores(
      holding: entity, includesSubentities: specification.includesSubentities, affectedStores: specification.affectedStores, .fetch)
    let split = specification.allowsInMemoryFiltering ? try FetchSplit(specification, model: context.model) : nil
    self.split = split?.isWhole == false ? split : nil
    let resolver = FetchResolver(model: context.model, transientKeys: specification.allowsInMemoryFiltering ? .allowed : .refused)
    let numbers = specification.includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    var resolved: ResolvedFetch?
    var required: RequiredValue?
    var candidates: [ManagedObject] = []
    var (changed, gone) = (0, 0)
    let counts = specification.resultType == .count
    var superseded: [ManagedObjectID] = []
    let spaces = specification.affectedStores == nil ? nil : Set(stores.map(\.space.number))
    func note(_ object: ManagedObject) throws {
      // One that is, or will be, in a store that is not asked does not count.
      if let spaces, !spaces.contains(context.space(of: object)) { return }
      changed += 1
      if counts, !object.currentID.isTemporaryID { superseded.append(object.currentID) }
      if resolved == nil {
        let fetch = try resolver.resolve(specification)
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
      for object in context.unitOfWork.deleted where numbers.contains(Int(object.currentID.entityNumber)) && object.isDeleted {
        gone += 1
        if counts, !object.currentID.isTemporaryID { superseded.append(object.currentID) }
      }
    }
    var concerned: Set<ManagedObject> = []
    if countsRelatedChanges, let related = try RelatedChanges(of: specification, entity, resolved, context) {
      for object in try related.concernedObjects() where numbers.contains(Int(object.currentID.entityNumber)) {
        if let spaces, !spaces.contains(context.space(of: object)) { continue }
        concerned.insert(object)
        try note(object)
      }
    }
    self.concerned = concerned
    if resolved == nil, stores.count > 1 || self.split != nil { resolved = try resolver.resolve(specification) }
    self.resolved = resolved
    self.candidates = candidates
    self.superseded = superseded
    changedCount = changed
    goneCount = gone
  }

  /// Whether unsaved changes bear on the answer.
  var hasRelevantChanges: Bool { changedCount > 0 || goneCount > 0 }

  /// Whether one store's answer is not the answer.
  var needsMerging: Bool { hasRelevantChanges || stores.count > 1 }

  /// Whether answers of stores have to be sorted again, because there are several or they have no order.
  var sortsAnew: Bool { stores.count > 1 && !specification.sortDescriptors.isEmpty || split?.sortsInMemory ?? false }

  /// What each store is asked: the request itself where its answer is the answer.
  var storeSpecification: FetchSpecification {
    if let split {
      var stored = split.stored
      stored.resultType = .objectIDs
      (stored.fetchLimit, stored.fetchOffset) = (0, 0)
      return stored
    }
    guard needsMerging else { return specification }
    var merged = specification
    // Of each store the window's rows and as many more as changes may take away.
    if merged.fetchLimit > 0 {
      let window = merged.fetchLimit.addingReportingOverflow(max(merged.fetchOffset, 0))
      let rows = window.partialValue.addingReportingOverflow(changedCount + goneCount)
      merged.fetchLimit = window.overflow || rows.overflow || specification.resultType == .count ? 0 : rows.partialValue
    }
    merged.fetchOffset = 0
    if specification.resultType == .count, !superseded.isEmpty {
      let others = FetchPredicate.not(
        .comparison(FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(superseded.map { .object($0) })))))
      merged.predicate = merged.predicate.map { $0 && others } ?? others
    }
    return merged
  }

  /// The changed objects that meet the predicate, in the request's order.
  func changedMatches() throws -> [ManagedObject] {
    guard let resolved, !candidates.isEmpty else { return [] }
    let evaluator = PredicateEvaluator(resolved, resolver: LivingObjectResolver())
    return try ObjectOrder(resolved, resolver: LivingObjectResolver()).sorted(try candidates.filter { try evaluator.matches($0) })
  }

  /// Whether the row of a stored object does not count, because the object is changed or deleted, or related ones are.
  func isSuperseded(_ object: ManagedObject) -> Bool {
    specification.includesPendingChanges
      && (!object.flags.isDisjoint(with: [.isUpdated, .isDeleted]) || !concerned.isEmpty && concerned.contains(object))
  }

  /// Sorts objects, whatever order they are in; equal ones keep theirs.
  func sorted(_ objects: [ManagedObject]) throws -> [ManagedObject] {
    guard let resolved else { return objects }
    return try ObjectOrder(resolved, resolver: LivingObjectResolver()).sorted(objects)
  }

  /// Puts changed objects, which are sorted, between stored ones, which are too: behind those that are equal to them.
  ///
  /// Reads the values of few stored objects: each place is found by halving.
  /// - Parameters:
  ///   - stored: The stored ones.
  ///   - changed: The changed ones.
  ///   - element: What stands for a changed object among the stored ones.
  ///   - object: The object that a stored one stands for; nil when its row is gone by now.
  func merge<Element>(
    _ stored: [Element], _ changed: [ManagedObject], element: (ManagedObject) -> Element, object: (Int) throws -> ManagedObject?
  ) throws -> [Element] {
    guard let resolved, !resolved.sortKeys.isEmpty, !changed.isEmpty else { return stored + changed.map(element) }
    let order = ObjectOrder(resolved, resolver: LivingObjectResolver())
    var result: [Element] = []
    result.reserveCapacity(stored.count + changed.count)
    var next = 0
    for arriving in changed {
      let values = try order.values(of: arriving)
      var (low, high) = (next, stored.count)
      while low < high {
        let middle = (low + high) / 2
        if let other = try object(middle), order.compare(values, try order.values(of: other)) < 0 {
          high = middle
        } else {
          low = middle + 1
        }
      }
      result.append(contentsOf: stored[next..<low])
      result.append(element(arriving))
      next = low
    }
    result.append(contentsOf: stored[next...])
    return result
  }

  /// The part of the results that offset and limit leave.
  func windowed<Element>(_ results: [Element]) -> [Element] {
    let window = window(of: results.count)
    return window.count == results.count ? results : Array(results[window])
  }

  /// The part of a number of results that offset and limit leave.
  func window(of count: Int) -> Range<Int> {
    let start = min(max(specification.fetchOffset, 0), count)
    guard specification.fetchLimit > 0 else { return start..<count }
    return start..<start + min(specification.fetchLimit, count - start)
  }
}

/// A value that a predicate asks of an attribute of each object, so that others need not be evaluated. Looking for an object before it is made, one
/// fetch after the other over a growing number of new objects, depends on it.
private struct RequiredValue {
  private let slot: Int
  private let value: Slot

  init?(_ fetch: ResolvedFetch) {
    for condition in fetch.predicate.conjuncts {
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
    // What cannot be read may be anything: whoever reads it tells.
    guard let found = try? object.readSlotValueAtHand(slot) else { return true }
    return found == value
  }
}
