// TouchedResults: what events have changed that bears on the results of a request.
import ObjectModel
import ObjectStore

/// What events have changed that bears on the results of a request, until it is looked at.
struct TouchedResults {
  /// What was changed of an object that may be a result.
  struct Touch {
    /// Held until it is looked at: one that was deleted is still told of.
    var object: ManagedObject?
    /// Whether it may have become a result, be one no more, or stand elsewhere.
    var isRelevant = false
    /// Whether values of its own were changed.
    var isUpdated = false
    /// Whether such were that it is not sorted by.
    var hasOtherChanges = false
    /// Whether it is known to be gone, unless there is an object of it.
    var isDeleted = false

    /// What two records of one object say together.
    func merged(with other: Touch) -> Touch {
      Touch(
        object: object ?? other.object, isRelevant: isRelevant || other.isRelevant, isUpdated: isUpdated || other.isUpdated,
        hasOtherChanges: hasOtherChanges || other.hasOtherChanges, isDeleted: isDeleted || other.isDeleted)
    }
  }

  private let question: ResultsQuestion
  private(set) var own: [ManagedObjectID: Touch] = [:]
  /// The objects that results depend on, by the numbers of the dependencies.
  private(set) var related: [Int: Set<ManagedObjectID>] = [:]
  /// Whether nobody knows which results were changed.
  private(set) var isUnknown = false
  /// Whether nobody knows which values of results were changed.
  private(set) var areValuesUnknown = false
  /// Whether inserted objects were saved.
  private var hasSave = false
  private(set) var hasRelevantChanges = false
  /// The objects that results depend on, as far as there are any: held until they are looked at, since who has left the context is not found any more.
  private(set) var held: [ManagedObjectID: ManagedObject] = [:]

  init(_ question: ResultsQuestion) { self.question = question }

  var isEmpty: Bool { own.isEmpty && related.isEmpty && !isUnknown && !hasSave }
  var hasRelatedChanges: Bool { !related.isEmpty }

  /// Replaces temporary IDs by the permanent ones that objects have got since they were recorded, from another list or from the application. So one object has
  /// one ID here, the one that results know it by.
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

  /// Whether values of a result were changed.
  func isUpdated(_ id: ManagedObjectID) -> Bool { areValuesUnknown || own[id]?.isUpdated ?? false }

  /// Whether values of a result were changed that it is not sorted by.
  func hasOtherChanges(_ id: ManagedObjectID) -> Bool { areValuesUnknown || own[id]?.hasOtherChanges ?? false }

  /// What is known without asking: values were changed, and nothing that decides where results stand.
  var updates: [ResultsDecision] {
    own.compactMap { id, touch in
      guard !touch.isRelevant, touch.isUpdated else { return nil }
      return ResultsDecision(id: id, outcome: .unchanged, isUpdated: true, hasOtherChanges: touch.hasOtherChanges)
    }
  }

  // MARK: Noting

  /// Notes that nobody knows what was changed.
  mutating func noteEverything() { (isUnknown, areValuesUnknown) = (true, true) }

  /// Notes an event.
  mutating func note(_ event: ContextEvent, in context: ManagedObjectContext) {
    if event.kind == .reset || event.isWhole { return noteEverything() }
    for change in event.refreshed { note(change.object.currentID, change.slots, change.toMany, change.object) }
    // An event has told before of what a save has written.
    if event.kind == .saved {
      hasSave = hasSave || !event.inserted.isEmpty
      // What others have linked to meanwhile is there no more.
      for object in event.deleted { noteRelated(object.currentID, nil, nil, object) }
      return
    }
    for object in event.inserted { noteArrival(object.currentID, object) }
    for change in event.updated { note(change.object.currentID, change.slots, change.toMany, change.object) }
    for object in event.deleted { noteDeletion(object.currentID, object) }
    if let changes = event.merged { note(changes, in: context) }
  }

  /// Notes what others have changed, of which not all is there as objects.
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
      // Nobody has told from where links in join tables led to what is gone.
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

  /// Notes what was changed of an object; nil masks are changes of anything.
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
