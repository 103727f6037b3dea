import ObjectModel
import ObjectStore

/// The changes that may affect the results of a request, collected from events until they are processed.
struct TouchedResults {
  /// The change of an object that may be a result.
  struct Touch {
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
    func merged(with other: Touch) -> Touch {
      Touch(
        object: object ?? other.object, isRelevant: isRelevant || other.isRelevant, isUpdated: isUpdated || other.isUpdated,
        hasOtherChanges: hasOtherChanges || other.hasOtherChanges, isDeleted: isDeleted || other.isDeleted)
    }
  }

  private let question: ResultsQuestion
  private(set) var own: [ManagedObjectID: Touch] = [:]
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

  init(_ question: ResultsQuestion) { self.question = question }

  var isEmpty: Bool { own.isEmpty && related.isEmpty && !isUnknown && !hasSave }
  var hasRelatedChanges: Bool { !related.isEmpty }

  /// Replaces temporary IDs with the permanent IDs that objects received after they were recorded. Each object then has one ID here, the
  /// same as in the results.
  mutating func adoptPermanentIDs() {
    for (id, touch) in own where id.isTemporaryID {
      guard let current = touch.object?.currentID, current != id else { continue }
      own[id] = nil
      own[current] = own[current].map { touch.merged(with: $0) } ?? touch
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
    own.compactMap { id, touch in
      guard !touch.isRelevant, touch.isUpdated else { return nil }
      return ResultsDecision(id: id, outcome: .unchanged, isUpdated: true, hasOtherChanges: touch.hasOtherChanges)
    }
  }

  // MARK: Recording

  /// Records that anything may have changed.
  mutating func noteEverything() { (isUnknown, areValuesUnknown) = (true, true) }

  mutating func note(_ event: ContextEvent, in context: ManagedObjectContext) {
    if event.kind == .reset || event.isWhole { return noteEverything() }
    for change in event.refreshed { note(change.object.currentID, change.slots, change.toMany, change.object) }
    // An earlier event has reported the changes that a save writes.
    if event.kind == .saved {
      hasSave = hasSave || !event.inserted.isEmpty
      // Links that other contexts created to deleted objects meanwhile no longer exist.
      for object in event.deleted { noteRelated(object.currentID, nil, nil, object) }
      return
    }
    for object in event.inserted { noteArrival(object.currentID, object) }
    for change in event.updated { note(change.object.currentID, change.slots, change.toMany, change.object) }
    for object in event.deleted { noteDeletion(object.currentID, object) }
    if let changes = event.merged { note(changes, in: context) }
  }

  /// Records merged changes of other contexts, some of which affect objects that are not registered.
  private mutating func note(_ changes: ChangeSet, in context: ManagedObjectContext) {
    let dependencies = question.dependencies
    let toMany = dependencies.toManyRelationships
    if !toMany.isDisjoint(with: changes.unlistedRelationships) { isUnknown = true }
    for id in changes.inserted { noteArrival(id, nil) }
    for (position, id) in changes.updated.enumerated() { note(id, changes.updatedSlots[position], SlotMask(), nil) }
    for id in changes.refreshed { note(id, context.model.entities[Int(id.entityNumber)].derivedSlots, SlotMask(), nil) }
    for id in changes.deleted {
      if question.mayHave(Int(id.entityNumber)) {
        own[id, default: Touch()].isDeleted = true
        noteRelevant(id)
      }
      // Change sets do not contain the sources of join-table links to deleted objects.
      if dependencies.hasUntoldLinks(toEntity: Int(id.entityNumber), in: context.model) { isUnknown = true }
    }
    guard !toMany.isEmpty, let space = space(of: changes) else { return }
    changes.forEachOwner(in: context.model, isWanted: { toMany.contains($0.id) }) { owner in
      let id = ManagedObjectID(space: space, entityNumber: UInt32(owner.object.entity), key: owner.object.key)
      var mask = SlotMask()
      mask.insert(context.model.relationships[owner.relationshipID].index)
      note(id, SlotMask(), mask, nil)
    }
  }

  private func space(of changes: ChangeSet) -> UInt32? {
    (changes.updated.first ?? changes.inserted.first ?? changes.deleted.first ?? changes.refreshed.first)?.space
  }

  /// Records changes of an object. A nil mask means that any property may have changed.
  private mutating func note(_ id: ManagedObjectID, _ slots: SlotMask?, _ toMany: SlotMask?, _ object: ManagedObject?) {
    if question.mayHave(Int(id.entityNumber)), !(slots?.isEmpty ?? false) || !(toMany?.isEmpty ?? false) {
      var touch = own[id] ?? Touch()
      touch.object = object ?? touch.object
      touch.isUpdated = true
      touch.hasOtherChanges = touch.hasOtherChanges || (slots?.hasMore(than: question.orderingSlots) ?? true) || !(toMany?.isEmpty ?? false)
      own[id] = touch
      if question.dependencies.isConcerned(by: slots, toMany) { noteRelevant(id) }
    }
    noteRelated(id, slots, toMany, object)
  }

  private mutating func noteRelevant(_ id: ManagedObjectID) {
    own[id]?.isRelevant = true
    hasRelevantChanges = true
  }

  private mutating func noteArrival(_ id: ManagedObjectID, _ object: ManagedObject?) {
    if question.mayHave(Int(id.entityNumber)) {
      own[id, default: Touch()].object = object
      noteRelevant(id)
    }
    noteRelated(id, nil, nil, object)
  }

  private mutating func noteDeletion(_ id: ManagedObjectID, _ object: ManagedObject) {
    if question.mayHave(Int(id.entityNumber)) {
      var touch = own[id] ?? Touch()
      (touch.object, touch.isDeleted) = (object, true)
      own[id] = touch
      noteRelevant(id)
    }
    noteRelated(id, nil, nil, object)
  }

  private mutating func noteRelated(_ id: ManagedObjectID, _ slots: SlotMask?, _ toMany: SlotMask?, _ object: ManagedObject?) {
    for (number, dependency) in question.dependencies.related.enumerated()
    where dependency.entities.contains(Int(id.entityNumber)) && dependency.isConcerned(by: slots, toMany) {
      related[number, default: []].insert(id)
      if let object { held[id] = object }
    }
  }
}
