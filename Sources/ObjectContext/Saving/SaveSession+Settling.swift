// SaveSession+Settling: what a save does before stores are asked: all that may change objects is run, and the changes become requests.
import ObjectModel
import ObjectStore

extension SaveSession {
  /// Runs everything of the application's that may change objects, until nothing more changes: `willSave`, delete rules, observers, validation.
  ///
  /// Where nothing is saved the caller lets the unit of work forget that `willSave` was called.
  func settle() throws -> SaveWork {
    if context.unitOfWork.releaseRules(), let recorder = context.recorder {
      // What the rules do to others now belongs to what was undone or redone: it is no action of its own.
      recorder.addToLastDone { context.propagateDeletes() }
    } else {
      context.propagateDeletes()
    }
    context.endEvent()
    var isValidatedAgain = false
    var rounds = 0
    while true {
      try callWillSave(rounds: &rounds)
      context.noticeChangesInPlace()
      context.endEvent()
      try context.notedErrors.settle()
      guard context.isToBeSaved else { return context.unitOfWork.work() }
      let work = context.unitOfWork.work()
      try context.validate(work)
      // Validators may have set values, which are validated once more, or changed further objects, which are to be saved too.
      if !context.unitOfWork.hasPendingChanges { return work }
      if isValidatedAgain, context.unitOfWork.work().hasSameObjects(as: work) { return work }
      isValidatedAgain = true
    }
  }

  /// Calls `willSave` on every changed object, and again on those that others' `willSave` has changed.
  private func callWillSave(rounds: inout Int) throws {
    var changed: [ManagedObject] = []
    var again = Set<ManagedObject>()
    func call(_ object: ManagedObject) {
      object.flags.insert(.willSaveCalled)
      object.willSave()
      if !context.unitOfWork.hasPendingChanges { return }
      let touched = context.unitOfWork.takePending()
      // What an object changes of itself needs no further call.
      for other in touched where other !== object && other.flags.contains(.willSaveCalled) { again.insert(other) }
      changed.append(contentsOf: touched)
    }
    rounds += 1
    // The lists as they are now: what `willSave` adds comes in the next round.
    let listed = context.unitOfWork.listed
    listed.forEachChanged { object in
      if object.hasChanges && !object.flags.contains(.willSaveCalled) { call(object) }
    }
    // As a rule it changes nothing, and that was all.
    if changed.isEmpty { return }
    while true {
      context.propagateDeletes()
      let waiting = context.unitOfWork.filter { $0.hasChanges && (!$0.flags.contains(.willSaveCalled) || again.contains($0)) }
      if waiting.isEmpty { break }
      rounds += 1
      guard rounds <= 1000 else {
        throw StoreError(.misuse(.endlessWillSave), operation: .save)
      }
      again = []
      for object in waiting where object.hasChanges { call(object) }
    }
    context.unitOfWork.restorePending(changed)
  }

  /// Where more rows are looked at before a save, none is kept.
  private static var mostRowsKept: Int { 250 }

  /// Checks that rows still exist whose versions the save does not check: those of objects that only got members, and those of the destinations of new
  /// links without an inverse. Rows of which the newest state is in memory are not read; the others are read all at once.
  func checkRows(of work: SaveWork) throws {
    var unread: [UInt32: [ManagedObjectID]] = [:]
    for object in work.updated where object.overlay == nil && !object.currentID.isTemporaryID {
      if object.flags.insertsRowAgain(object.row) { continue }
      guard object.toManyStates.contains(where: { !$0.added.isEmpty && !$0.relationship.isTransient }) else { continue }
      unread[object.currentID.space, default: []].append(object.currentID)
    }
    var destinations: Set<ManagedObjectID> = []
    if context.tables.hasRelationshipsWithoutInverse {
      for object in work.inserted { addUncheckedDestinations(of: object, to: &destinations) }
      for object in work.updated { addUncheckedDestinations(of: object, to: &destinations) }
      for id in destinations { unread[id.space, default: []].append(id) }
    }
    for (space, objects) in unread {
      guard let store = context.rowSource.store(numbered: space) else { continue }
      let ids = objects.filter { context.rowSource.newestRowAtHand($0.reference, in: store) == nil }
      if ids.isEmpty { continue }
      // Rows of an import would stay at hand by the thousands, for nobody.
      let rows = try context.rowSource.newestRows(of: ids, in: store, isPassing: ids.count > Self.mostRowsKept)
      let found = Set(rows.references)
      guard let gone = ids.first(where: { !found.contains($0.reference) }) else { continue }
      throw StoreError(destinations.contains(gone) ? .lostDestination(gone) : .lostMembers(gone), operation: .save)
    }
  }

  /// Adds the destinations of an object's new links whose other end is not saved, and whose rows are therefore not checked.
  private func addUncheckedDestinations(of object: ManagedObject, to destinations: inout Set<ManagedObjectID>) {
    let space = context.space(of: object)
    func add(_ reference: ObjectReference) {
      if reference.key <= 0 { return }
      if let destination = context.registeredObject(reference, space: space) {
        // New and deleted objects need no row, and the version of a changed one is checked.
        if !destination.flags.isDisjoint(with: [.isInserted, .isDeleted]) { return }
        if destination.isUpdated, destination.overlay != nil || destination.flags.insertsRowAgain(destination.row) { return }
      }
      destinations.insert(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
    }
    let (entity, stored) = (object.compiledEntity, object.image)
    object.forEachUnsavedReference { slot, reference in
      guard let relationship = entity.slots[slot].relationship, relationship.inverseID == nil, !relationship.isTransient,
        stored?.reference(slot) != reference
      else { return }
      add(reference)
    }
    for state in object.toManyStates where !state.added.isEmpty && state.relationship.inverseID == nil && !state.relationship.isTransient {
      // Members that are known to be gone are not saved.
      for reference in state.added.elements where !context.memberStates.isGone(reference) { add(reference) }
    }
  }

  func makeRequests(_ work: SaveWork) throws -> [(PersistentStore, SaveChangesRequest)] {
    var builders: [SaveRequestBuilder] = []
    func builder(_ space: UInt32) -> SaveRequestBuilder {
      if let known = builders.first(where: { $0.space == space }) { return known }
      let made = SaveRequestBuilder(context: context, space: space, insertedCount: work.inserted.count)
      builders.append(made)
      return made
    }
    /// Builds with each of some objects, of which one store's come one after the other as a rule.
    func build(_ objects: [ManagedObject], _ body: (SaveRequestBuilder, ManagedObject) -> Void) {
      guard var current = objects.first.map({ builder($0.ownSpace) }) else { return }
      MemoryAhead.visit(objects) { object in
        if object.ownSpace != current.space { current = builder(object.ownSpace) }
        body(current, object)
      }
    }
    build(work.inserted) { $0.insert($1) }
    build(work.updated) { $0.update($1) }
    // Of rows that are gone nothing is left to delete.
    build(work.deleted.filter { !$0.flags.contains(.isInaccessible) }) { $0.delete($1) }
    build(work.locked) { $0.lock($1) }
    return try builders.map { builder in
      guard let first = work.first(inSpace: builder.space) else { throw context.unexpectedResult() }
      return (try context.rowSource.openStore(of: first, .save), try builder.finish())
    }
  }
}
