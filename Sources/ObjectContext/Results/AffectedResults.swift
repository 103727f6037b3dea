import ObjectModel
import ObjectQuery
import ObjectStore

/// The changes that may affect the results of a request, collected from events until they are processed.
struct AffectedResults {
  /// The change of an object that may be a result.
  struct ObjectChangeRecord {
    /// The object, retained until the change is processed, because a deletion must be reported with the object.
    var object: ManagedObject?
    /// Whether the object may have become a result, ceased to be one, or moved.
    var isRelevant = false
    /// Whether the object's own values changed.
    var isUpdated = false
    /// Whether own values changed that are not sort values.
    var hasOtherChanges = false
    /// Whether the object was deleted. If it is still registered, its current state decides.
    var isDeleted = false

    /// Returns the union of two records of the same object.
    func merged(with other: ObjectChangeRecord) -> ObjectChangeRecord {
      ObjectChangeRecord(
        object: object ?? other.object, isRelevant: isRelevant || other.isRelevant, isUpdated: isUpdated || other.isUpdated,
        hasOtherChanges: hasOtherChanges || other.hasOtherChanges, isDeleted: isDeleted || other.isDeleted)
    }
  }

  private let query: ResultsQuery
  private(set) var own: [ManagedObjectID: ObjectChangeRecord] = [:]
  /// The changed objects that results depend on, by the index of the dependency.
  private(set) var related: [Int: Set<ManagedObjectID>] = [:]
  /// Whether any result may have changed.
  private(set) var isUnknown = false
  /// Whether any value of any result may have changed.
  private(set) var areValuesUnknown = false
  /// Whether inserted objects were saved.
  private var hasSave = false
  private(set) var hasRelevantChanges = false
  /// The changed objects that results depend on, if they are in memory. They are retained until the changes are processed, because the
  /// context no longer finds objects that have left it.
  private(set) var held: [ManagedObjectID: ManagedObject] = [:]

  init(_ query: ResultsQuery) { self.query = query }

  var isEmpty: Bool { own.isEmpty && related.isEmpty && !isUnknown && !hasSave }
  var hasRelatedChanges: Bool { !related.isEmpty }

  /// Replaces temporary IDs with the permanent IDs that objects received after they were recorded. Each object then has one ID here, the
  /// same as in the results.
  mutating func adoptPermanentIDs() {
    for (id, entry) in own where id.isTemporaryID {
      guard let current = entry.object?.currentID, current != id else { continue }
      own[id] = nil
      own[current] = own[current].map { entry.merged(with: $0) } ?? entry
    }
    for (id, object) in held where id.isTemporaryID && object.currentID != id {
      held[id] = nil
      held[object.currentID] = object
      for number in related.keys where related[number]?.remove(id) != nil { related[number]?.insert(object.currentID) }
    }
  }

  func isUpdated(_ id: ManagedObjectID) -> Bool { areValuesUnknown || own[id]?.isUpdated ?? false }

  func hasOtherChanges(_ id: ManagedObjectID) -> Bool { areValuesUnknown || own[id]?.hasOtherChanges ?? false }

  /// The decisions that need no evaluation: values changed, but none that affects positions.
  var updates: [ResultsDecision] {
    own.compactMap { id, entry in
      guard !entry.isRelevant, entry.isUpdated else { return nil }
      return ResultsDecision(id: id, outcome: .unchanged, isUpdated: true, hasOtherChanges: entry.hasOtherChanges)
    }
  }

  // MARK: Recording

  /// Records that anything may have changed.
  mutating func invalidateAll() { (isUnknown, areValuesUnknown) = (true, true) }

  mutating func record(_ event: ContextEvent, in context: ManagedObjectContext) {
    if event.kind == .reset || event.isWhole { return invalidateAll() }
    for change in event.refreshed { record(change.object.currentID, change.slots, change.toMany, change.object) }
    // An earlier event has reported the changes that a save writes.
    if event.kind == .saved {
      hasSave = hasSave || !event.inserted.isEmpty
      // Links that other contexts created to deleted objects meanwhile no longer exist.
      for object in event.deleted { recordRelated(object.currentID, nil, nil, object) }
      return
    }
    for object in event.inserted { recordArrival(object.currentID, object) }
    for change in event.updated { record(change.object.currentID, change.slots, change.toMany, change.object) }
    for object in event.deleted { recordDeletion(object.currentID, object) }
    if let changes = event.merged { record(changes, in: context) }
  }

  /// Records merged changes of other contexts, some of which affect objects that are not registered.
  private mutating func record(_ changes: ChangeSet, in context: ManagedObjectContext) {
    let dependencies = query.dependencies
    let toMany = dependencies.toManyRelationships
    if !toMany.isDisjoint(with: changes.unlistedRelationships) { isUnknown = true }
    for id in changes.inserted { recordArrival(id, nil) }
    for (position, id) in changes.updated.enumerated() { record(id, changes.updatedSlots[position], SlotMask(), nil) }
    for id in changes.refreshed { record(id, context.model.entities[Int(id.entityNumber)].derivedSlots, SlotMask(), nil) }
    for id in changes.deleted {
      if query.mayInclude(Int(id.entityNumber)) {
        own[id, default: ObjectChangeRecord()].isDeleted = true
        recordRelevant(id)
      }
      // Change sets of this process do not contain the sources of join-table links to deleted objects.
      if !changes.listsRemovedLinks, dependencies.hasUntrackedLinks(toEntity: Int(id.entityNumber), in: context.model) { isUnknown = true }
    }
    for filled in changes.filled where query.mayInclude(filled.entity) || query.dependencies.isAffected(by: filled) { invalidateAll() }
    guard !toMany.isEmpty, let space = space(of: changes) else { return }
    changes.forEachOwner(in: context.model, isIncluded: { toMany.contains($0.id) }) { owner in
      let id = ManagedObjectID(space: space, entityNumber: UInt32(owner.object.entity), key: owner.object.key)
      record(id, SlotMask(), SlotMask(slots: CollectionOfOne(context.model.relationships[owner.relationshipID].index)), nil)
    }
  }

  private func space(of changes: ChangeSet) -> UInt32? {
    (changes.updated.first ?? changes.inserted.first ?? changes.deleted.first ?? changes.refreshed.first)?.space
  }

  /// Records changes of an object. A nil mask means that any property may have changed.
  private mutating func record(_ id: ManagedObjectID, _ slots: SlotMask?, _ toMany: SlotMask?, _ object: ManagedObject?) {
    if query.mayInclude(Int(id.entityNumber)), !(slots?.isEmpty ?? false) || !(toMany?.isEmpty ?? false) {
      var entry = own[id] ?? ObjectChangeRecord()
      entry.object = object ?? entry.object
      entry.isUpdated = true
      entry.hasOtherChanges = entry.hasOtherChanges || (slots?.hasMore(than: query.orderingSlots) ?? true) || !(toMany?.isEmpty ?? false)
      own[id] = entry
      if query.dependencies.isAffected(by: slots, toMany) { recordRelevant(id) }
    }
    recordRelated(id, slots, toMany, object)
  }

  private mutating func recordRelevant(_ id: ManagedObjectID) {
    own[id]?.isRelevant = true
    hasRelevantChanges = true
  }

  private mutating func recordArrival(_ id: ManagedObjectID, _ object: ManagedObject?) {
    if query.mayInclude(Int(id.entityNumber)) {
      own[id, default: ObjectChangeRecord()].object = object
      recordRelevant(id)
    }
    recordRelated(id, nil, nil, object)
  }

  private mutating func recordDeletion(_ id: ManagedObjectID, _ object: ManagedObject) {
    if query.mayInclude(Int(id.entityNumber)) {
      var entry = own[id] ?? ObjectChangeRecord()
      (entry.object, entry.isDeleted) = (object, true)
      own[id] = entry
      recordRelevant(id)
    }
    recordRelated(id, nil, nil, object)
  }

  private mutating func recordRelated(_ id: ManagedObjectID, _ slots: SlotMask?, _ toMany: SlotMask?, _ object: ManagedObject?) {
    for (number, dependency) in query.dependencies.related.enumerated()
    where dependency.entities.contains(Int(id.entityNumber)) && dependency.isAffected(by: slots, toMany) {
      related[number, default: []].insert(id)
      if let object { held[id] = object }
    }
  }
}

/// Determines which of the changed objects are results: evaluates objects in memory, and fetches the others with one request.
struct ResultsEvaluator {
  private let affected: AffectedResults
  private let results: LiveResults
  private var context: ManagedObjectContext { results.context }
  private var query: ResultsQuery { results.query }

  init(_ affected: AffectedResults, _ results: LiveResults) {
    self.affected = affected
    self.results = results
  }

  /// Returns the decision for each object.
  func decisions() throws -> [ResultsDecision] {
    var candidates: Set<ManagedObjectID> = []
    for (id, touch) in affected.own where touch.isRelevant { candidates.insert(id) }
    for (number, ids) in affected.related {
      let roots = FetchRootFinder(
        query.dependencies.related[number], of: query.entity, affectedStores: query.specification.affectedStores, in: context,
        known: affected.held)
      candidates.formUnion(try roots.roots(of: ids).filter { query.mayInclude(Int($0.entityNumber)) })
    }
    var here: [ManagedObject] = []
    var elsewhere: [ManagedObjectID] = []
    var decisions = affected.updates.filter { !candidates.contains($0.id) }
    for id in candidates {
      if let object = context.registeredObject(for: id) {
        if !object.flags.isDisjoint(with: [.isDeleted, .isRemoved, .isInaccessible]) || !query.includesStore(object, in: context) {
          decisions.append(decision(id, .none))
        } else if object.flags.contains(.isFault) && !object.flags.contains(.isUpdated) && object.row == nil {
          elsewhere.append(id)
        } else if results.isRemovedFromParent(object, wasDeleted: affected.own[id]?.isDeleted ?? false) {
          elsewhere.append(id)
        } else {
          here.append(object)
        }
      } else if affected.own[id]?.isDeleted ?? false || id.isTemporaryID {
        decisions.append(decision(id, .none))
      } else {
        elsewhere.append(id)
      }
    }
    decisions += try evaluate(here)
    decisions += try fetch(elsewhere)
    return decisions
  }

  private func decision(_ id: ManagedObjectID, _ outcome: ResultsDecision.Outcome) -> ResultsDecision {
    ResultsDecision(id: id, outcome: outcome, isUpdated: affected.isUpdated(id), hasOtherChanges: affected.hasOtherChanges(id))
  }

  // MARK: Evaluation

  /// With more objects than this, their related objects are prefetched.
  private static var fewObjects: Int { 8 }

  /// Evaluates the predicate for objects in memory.
  private func evaluate(_ objects: [ManagedObject]) throws -> [ResultsDecision] {
    if objects.count > Self.fewObjects, !query.dependencies.related.isEmpty {
      try context.prefetch(query.dependencies.paths, for: objects)
    }
    var (met, decisions): ([ManagedObject], [ResultsDecision]) = ([], [])
    for object in objects {
      if try query.isMet(by: object) { met.append(object) } else { decisions.append(decision(object.currentID, .none)) }
    }
    let former = met.map(\.currentID)
    results.assignPermanentIDs(to: met)
    for (object, id) in zip(met, former) { decisions.append(try self.decision(of: object, recordedAs: id)) }
    return decisions
  }

  private func decision(of object: ManagedObject, recordedAs id: ManagedObjectID) throws -> ResultsDecision {
    let section = query.section == nil ? 0 : results.names.number(of: try query.section(of: object))
    let item = ResultItem(id: object.currentID, values: try query.values(of: object), section: section)
    return ResultsDecision(
      id: object.currentID, outcome: .result(item), isUpdated: affected.isUpdated(id), hasOtherChanges: affected.hasOtherChanges(id))
  }

  /// Whether other objects have unsaved changes that affect results and are unknown to the stores.
  private var hasUnsavedRelated: Bool {
    if query.dependencies.related.isEmpty || context.unitOfWork.isEmpty { return false }
    return context.unitOfWork.objects.contains {
      $0.hasChanges && query.dependencies.hasRelated(ofEntity: Int($0.currentID.entityNumber))
    }
  }

  private func fetch(_ ids: [ManagedObjectID]) throws -> [ResultsDecision] {
    if ids.isEmpty { return [] }
    if hasUnsavedRelated {
      // The array retains the objects until they are evaluated.
      let objects = try context.objects(with: ids)
      let there = objects.compactMap { $0 }
      let found = Set(there.map(\.currentID))
      return try evaluate(there.filter { query.includesStore($0, in: context) })
        + ids.filter { !found.contains($0) }.map { decision($0, .none) }
    }
    var specification = query.specification
    let isOne = FetchPredicate.comparison(
      FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(ids.map { .object($0) }))))
    specification.predicate = specification.predicate.map { .and([$0, isOne]) } ?? isOne
    specification.sortDescriptors = []
    let objects = try context.settledObjects(of: specification)
    let found = Set(objects.map(\.currentID))
    return try objects.map { try decision(of: $0, recordedAs: $0.currentID) }
      + ids.filter { !found.contains($0) }.map { decision($0, .none) }
  }
}

/// The result of checking an object that may be a result.
struct ResultsDecision {
  /// The outcome of the check.
  enum Outcome {
    /// The object is not a result.
    case none
    /// The object is a result with these sort values.
    case result(ResultItem)
    /// The object is a result if it was one before, at the same position.
    case unchanged
  }

  let id: ManagedObjectID
  let outcome: Outcome
  /// Whether the object's own values changed.
  let isUpdated: Bool
  /// Whether own values changed that are not sort values.
  let hasOtherChanges: Bool
}
