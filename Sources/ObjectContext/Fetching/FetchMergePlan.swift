import ObjectModel
import ObjectQuery
import ObjectStore

/// The steps that combine the answers of stores with each other and with unsaved changes, and the order of the combined results.
struct FetchMergePlan {
  let specification: FetchSpecification
  /// The stores to fetch from; never empty.
  let stores: [PersistentStore]
  /// The part of the request that the stores evaluate and the remainder; nil if the stores can evaluate all of it.
  let split: FetchSplit?
  /// The number of changed, undeleted objects of the entity whose stored rows are superseded, including objects affected by unsaved changes
  /// of related objects.
  let changedCount: Int
  /// The changed objects that may match the predicate, in the order of their changes.
  private let candidates: [ManagedObject]
  /// The number of deleted objects of the entity.
  let deletedCount: Int
  private let resolved: ResolvedFetch?
  /// The IDs of saved objects that a count in the stores must exclude.
  private let superseded: [ManagedObjectID]
  /// The unchanged objects that unsaved changes of related objects affect. The plan retains them.
  private let affected: Set<ManagedObject>

  /// Creates a plan.
  ///
  /// - Parameter countsRelatedChanges: Whether to include unsaved changes of objects that the request reaches through relationships.
  init(_ specification: FetchSpecification, context: ManagedObjectContext, countsRelatedChanges: Bool = true) throws {
    // Check here, because the requests sent to the stores may lack the limit and the offset.
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
    var (changed, deleted) = (0, 0)
    let counts = specification.resultType == .count
    var superseded: [ManagedObjectID] = []
    let spaces = specification.affectedStores == nil ? nil : Set(stores.map(\.space.number))
    func examine(_ object: ManagedObject) throws {
      // Skip an object whose current or future store is not part of the request.
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
        try examine(object)
      }
      for object in context.unitOfWork.updated where numbers.contains(Int(object.currentID.entityNumber)) && object.isUpdated {
        try examine(object)
      }
      for object in context.unitOfWork.deleted where numbers.contains(Int(object.currentID.entityNumber)) && object.isDeleted {
        deleted += 1
        if counts, !object.currentID.isTemporaryID { superseded.append(object.currentID) }
      }
    }
    var affected: Set<ManagedObject> = []
    if countsRelatedChanges, let related = try RelatedChanges(of: specification, entity, resolved, context) {
      for object in try related.affectedObjects() where numbers.contains(Int(object.currentID.entityNumber)) {
        if let spaces, !spaces.contains(context.space(of: object)) { continue }
        affected.insert(object)
        try examine(object)
      }
    }
    self.affected = affected
    if resolved == nil, stores.count > 1 || self.split != nil { resolved = try resolver.resolve(specification) }
    self.resolved = resolved
    self.candidates = candidates
    self.superseded = superseded
    changedCount = changed
    deletedCount = deleted
  }

  /// Whether unsaved changes can affect the results.
  var hasRelevantChanges: Bool { changedCount > 0 || deletedCount > 0 }

  /// Whether the answers of the stores must be merged with each other or with unsaved changes.
  var needsMerging: Bool { hasRelevantChanges || stores.count > 1 }

  /// Whether the results must be sorted in memory: they come from several stores, or the stores cannot evaluate the sort order.
  var sortsInMemory: Bool { stores.count > 1 && !specification.sortDescriptors.isEmpty || split?.sortsInMemory ?? false }

  /// The request for each store. It is the original request if no merging is needed.
  var storeSpecification: FetchSpecification {
    if let split {
      var stored = split.stored
      stored.resultType = .objectIDs
      (stored.fetchLimit, stored.fetchOffset) = (0, 0)
      return stored
    }
    guard needsMerging else { return specification }
    var merged = specification
    // Fetch the rows up to the end of the window from each store, plus one for each row that changes may remove.
    if merged.fetchLimit > 0 {
      let window = merged.fetchLimit.addingReportingOverflow(max(merged.fetchOffset, 0))
      let rows = window.partialValue.addingReportingOverflow(changedCount + deletedCount)
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

  /// Returns the changed objects that match the predicate, in the request's order.
  func changedMatches() throws -> [ManagedObject] {
    guard let resolved, !candidates.isEmpty else { return [] }
    let evaluator = PredicateEvaluator(resolved, resolver: ManagedObjectResolver())
    return try ObjectOrder(resolved, resolver: ManagedObjectResolver()).sorted(try candidates.filter { try evaluator.matches($0) })
  }

  /// Returns whether the stored row of an object is superseded because the object or a related one has unsaved changes, or the object is
  /// deleted.
  func isSuperseded(_ object: ManagedObject) -> Bool {
    specification.includesPendingChanges
      && (!object.flags.isDisjoint(with: [.isUpdated, .isDeleted]) || !affected.isEmpty && affected.contains(object))
  }

  /// Sorts objects in the request's order. The sort is stable.
  func sorted(_ objects: [ManagedObject]) throws -> [ManagedObject] {
    guard let resolved else { return objects }
    return try ObjectOrder(resolved, resolver: ManagedObjectResolver()).sorted(objects)
  }

  /// Merges sorted changed objects into sorted stored results. A changed object follows the stored results that compare equal to it.
  ///
  /// Finds each position by binary search, which reads the values of few stored objects.
  ///
  /// - Parameters:
  ///   - element: Converts a changed object to a result.
  ///   - object: Returns the object of the stored result at an index; nil if its row no longer exists.
  func merge<Element>(
    _ stored: [Element], _ changed: [ManagedObject], element: (ManagedObject) -> Element, object: (Int) throws -> ManagedObject?
  ) throws -> [Element] {
    guard let resolved, !resolved.sortKeys.isEmpty, !changed.isEmpty else { return stored + changed.map(element) }
    let order = ObjectOrder(resolved, resolver: ManagedObjectResolver())
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

  /// Applies the offset and the limit to results.
  func windowed<Element>(_ results: [Element]) -> [Element] {
    let window = window(of: results.count)
    return window.count == results.count ? results : Array(results[window])
  }

  /// Returns the range that the offset and the limit select from a number of results.
  func window(of count: Int) -> Range<Int> {
    let start = min(max(specification.fetchOffset, 0), count)
    guard specification.fetchLimit > 0 else { return start..<count }
    return start..<start + min(specification.fetchLimit, count - start)
  }
}

/// A value that the predicate requires an attribute to have. Objects with another value need no evaluation.
///
/// Find-or-create in a loop depends on it: each fetch checks a growing number of inserted objects.
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

  /// Returns whether an object may have the value.
  ///
  /// Only inequality is conclusive. The evaluator decides for texts that are equal but differ in their bytes.
  func mayBe(of object: ManagedObject) -> Bool {
    // If the value cannot be read, the object remains a candidate, and the evaluation reports the error.
    guard let found = try? object.loadedSlotValue(slot) else { return true }
    return found == value
  }
}

/// The in-memory evaluator's access to a context's objects, including unsaved changes.
struct ManagedObjectResolver: ObjectResolver {
  init() {}

  func entity(of object: ManagedObject) -> CompiledEntity { object.compiledEntity }
  func objectID(of object: ManagedObject) -> ManagedObjectID { object.objectID }
  func value(of object: ManagedObject, slot: Int) throws -> Slot {
    // A missing value of an inserted object reads as null, which is what a save would store.
    try object.readSlotValue(slot)
  }
  func destination(of object: ManagedObject, slot: Int) throws -> ManagedObject? { object.destination(slot) }
  func members(of object: ManagedObject, toMany index: Int) throws -> [ManagedObject] {
    object.toManyArray(index, as: ManagedObject.self)
  }
}
