// SaveSession: one save of a context, from settling what is saved to telling who hears of it.
import ObjectModel
import ObjectStore

/// One save: settle what is saved → permanent IDs → requests → the stores' transactions → objects take what was saved → tell.
///
/// What a save has to remember lies here and goes with it: between saves a context knows nothing of one. An object's `didSave` may save again; that is
/// another session.
final class SaveSession {
  let context: ManagedObjectContext
  /// What is saved.
  private var work = SaveWork(inserted: [], updated: [], deleted: [], locked: [])
  /// What the stores have taken.
  private var parts: [SavedPart] = []
  /// New objects, and the stored ones that they were merged into.
  private var merged: [ObjectReference: ObjectReference] = [:]
  /// Objects that a merge policy has changed.
  private var mergedObjects: [ManagedObject] = []
  /// How often a save to one store is tried while others change its rows.
  private static var mergeRounds: Int { 100 }

  init(of context: ManagedObjectContext) { self.context = context }

  /// Saves all that there is to save.
  ///
  /// - Throws: What ``ManagedObjectContext/save()`` throws.
  func run() throws {
    context.notifications.postWillSave(in: context)
    do { work = try settle() } catch {
      context.unitOfWork.forgetWillSaveCalls()
      throw error
    }
    if work.isEmpty { return context.unitOfWork.forgetWillSaveCalls() }
    if context.recorder != nil { context.keepWhatIsUndone(deleting: work.deleted) }
    do {
      try context.unrecorded {
        try context.obtainIDs(for: work.inserted)
        try checkRows(of: work)
        try store(try makeRequests(work))
      }
    } catch {
      // What some stores have already is saved; the next save must not write it again.
      if !parts.isEmpty {
        work = work.part(inStores: parts.map(\.store))
        finish(isWhole: false)
      }
      context.replaceReferences(savedReference)
      context.unitOfWork.forgetWillSaveCalls()
      throw error
    }
    finish(isWhole: true)
  }

  // MARK: Storing

  private func store(_ requests: [(PersistentStore, SaveChangesRequest)]) throws {
    let cancellation = context.rowSource.cancellation
    defer { context.rowSource.cancellation = cancellation }
    for (store, request) in requests {
      parts.append(try save(request, to: store))
      // What one store has, the others are to have too: from here on nobody can call the save off.
      context.rowSource.cancellation = nil
    }
  }

  /// Saves to one store. Conflicts are resolved as the merge policy says, and the save is tried again.
  private func save(_ request: SaveChangesRequest, to store: PersistentStore) throws -> SavedPart {
    var request = request
    var conflicts: SaveConflicts?
    for round in 1... {
      do {
        let outcome = request.isEmpty ? SaveOutcome() : try context.rowSource.save(request, to: store)
        return SavedPart(store: store, request: request, outcome: outcome, conflicts: conflicts)
      } catch let error as StoreError where error.code == .mergeConflict || error.code == .constraintConflict {
        let known = conflicts ?? SaveConflicts(request, to: store, of: context)
        conflicts = known
        if round > Self.mergeRounds { throw try known.described(error) }
        try known.resolve(error)
        try known.validate()
        request = known.makeRequest()
      }
    }
    // The compiler does not see that `1...` has no end.
    preconditionFailure("the loop has no end")
  }

  // MARK: What objects get of it

  /// The stores have everything: objects take their new rows, deleted ones leave.
  private func finish(isWhole: Bool) {
    tell(of: context.unrecorded { takeOver(isWhole: isWhole) })
  }

  /// Objects take what was saved.
  ///
  /// - Returns: The objects for which stores have computed values, and the event that is to be told.
  private func takeOver(isWhole: Bool) -> ([ManagedObject], ContextEvent?) {
    // What was saved is not in a state that held still until now.
    context.rowSource.advance()
    // What is changed of objects is gone as soon as they have taken their rows.
    let changed = work
    let event = context.eventObservers.isEmpty ? nil : ContextEvent(saving: work)
    for part in parts { takeRows(of: part) }
    for object in work.updated where object.flags.contains(.isUpdated) { object.takeSavedRow(nil, of: self) }
    if isWhole {
      context.unitOfWork.finishSave()
    } else {
      context.unitOfWork.finishSave(of: changed)
      context.replaceReferences(savedReference)
    }
    if context.recorder != nil { context.noteSavedForUndo(savedReference) }
    // Every reference to an object that was new has been replaced.
    context.registry.forgetPermanentIDs()
    for object in work.deleted { leave(object) }
    context.forgetGoneMembers()
    unloadMembers()
    context.handedOut.sweep()
    if context.intake.hasNested { context.tellNested(ofSaved: changed, parts.map { ($0.store, $0.request, $0.outcome) }) }
    return (takeComputedValues(), event)
  }

  /// Objects take what was saved of them in a store.
  private func takeRows(of part: SavedPart) {
    if let conflicts = part.conflicts { return takeMergedRows(of: part, conflicts) }
    let space = part.store.space.number
    var next = 0
    let inserted = part.request.inserted
    MemoryAhead.visit(work.inserted) { object in
      if object.ownSpace != space { return }
      object.takeSavedRow(heldRow: inserted.base(next), of: self)
      next += 1
    }
    // The updates are in the order of the objects, without those of which nothing but members is new.
    let updates = part.request.updated
    next = 0
    // The request holds the rows.
    MemoryAhead.visit(work.updated) { object in
      guard object.ownSpace == space, next < updates.count, object.ownReference == RowImage.reference(updates[next].row.base) else {
        return
      }
      object.takeSavedRow(heldRow: updates[next].row.base, of: self)
      next += 1
    }
    // An object that is known by the ID of a superentity is found by its key only.
    for update in updates[next...] {
      context.registeredObject(update.row.reference, space: space)?.takeSavedRow(update.row, of: self)
    }
  }

  /// The reference of an object as it was saved: of a new object its permanent one, or that of the object that it was merged into.
  func savedReference(_ reference: ObjectReference) -> ObjectReference {
    let saved = context.registry.savedReference(reference)
    return merged.isEmpty ? saved : merged[saved] ?? saved
  }

  /// Objects take what a merge policy has made of them.
  private func takeMergedRows(of part: SavedPart, _ conflicts: SaveConflicts) {
    let space = part.store.space.number
    var (kept, discarded): (Set<ManagedObject>, Set<ManagedObject>) = ([], [])
    for new in conflicts.merged.keys {
      let survivor = conflicts.survivor(of: new)
      merged[new] = survivor
      guard let object = context.registeredObject(new, space: space) else { continue }
      if context.registeredObject(survivor, space: space) == nil, survivor.entity == new.entity {
        // Whoever holds the new object goes on with the stored one's identity.
        context.rekey(object, to: conflicts.objectID(survivor))
        kept.insert(object)
      } else {
        discarded.insert(object)
      }
    }
    let written = part.request.inserted.map { $0 } + part.request.updated.map(\.row)
    for row in written { context.registeredObject(row.reference, space: space)?.takeSavedRow(row, of: self) }
    for (reference, row) in conflicts.refreshed {
      guard let object = context.registeredObject(reference, space: space) else { continue }
      if object.flags.contains(.isDeleted) { object.flags.subtract([.isDeleted, .isListedAsDeleted, .deletePropagated]) }
      object.takeSavedRow(row, of: self)
    }
    for object in discarded {
      leave(object)
      if let survivor = merged[object.currentID.reference] { object.currentID = conflicts.objectID(survivor) }
    }
    let gone = Set(conflicts.gone.compactMap { context.registeredObject($0, space: space) })
    for object in gone { leave(object) }
    let restored = Set(conflicts.restored.compactMap { context.registeredObject($0, space: space) })
    work = work.without(discarded.union(gone), merged: kept, restored: restored)
    mergedObjects += conflicts.touched.compactMap { context.registeredObject($0, space: space) }
      .filter { !gone.contains($0) && !$0.isDeleted }
  }

  /// An object whose row is gone leaves the context.
  private func leave(_ object: ManagedObject) {
    context.memberStates.noteGone(object.currentID)
    object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
    object.flags.insert(.isGone)
    context.detach(object)
  }

  /// After rows were merged, members are read anew when they are asked for: what was changed here is not all that has changed.
  private func unloadMembers() {
    var entities: Set<Int> = []
    for part in parts {
      guard let conflicts = part.conflicts else { continue }
      for reference in conflicts.touched.union(conflicts.gone).union(conflicts.merged.keys) {
        entities.insert(reference.entity)
        guard let object = context.registeredObject(reference, space: part.store.space.number) else { continue }
        for state in object.toManyStates { state.unload() }
      }
    }
    if !entities.isEmpty { context.unloadMembers(ofEntities: entities) }
  }

  /// Registered objects take what the stores have computed beside what was saved. Objects whose rows the stores did not give are read, all at once.
  ///
  /// - Returns: The objects that have new values.
  private func takeComputedValues() -> [ManagedObject] {
    var refreshed: [ManagedObject] = []
    for part in parts where !part.outcome.isEmpty {
      let space = part.store.space.number
      for row in part.outcome.refreshed {
        guard let object = context.registeredObject(row.reference, space: space) else { continue }
        object.takeComputedRow(row)
        refreshed.append(object)
      }
      let outdated = part.outcome.outdated.compactMap { context.registeredObject($0, space: space) }
      context.refresh(outdated, in: part.store, keepsVersions: true)
      refreshed += outdated
    }
    return refreshed
  }

  // MARK: Telling

  private func tell(of result: (refreshed: [ManagedObject], event: ContextEvent?)) {
    let (refreshed, event) = result
    if let event {
      context.tellEvent {
        var finished = event.finished(work, computed: refreshed, merged: mergedObjects)
        // Objects may have left, or have become others.
        finished.isWhole = parts.contains { $0.conflicts != nil }
        return finished
      }
    }
    for object in mergedObjects { object.awake(fromSnapshotEvents: .mergePolicy) }
    work.forEachChanged { $0.didSave() }
    if !refreshed.isEmpty || !mergedObjects.isEmpty { context.notifications.postRefreshed(refreshed + mergedObjects, in: context) }
    context.notifications.postDidSave(work, historyToken, in: context)
    context.endTelling()
  }

  /// The place behind the save in the histories of the stores; nil where none keeps one.
  private var historyToken: PersistentHistoryToken? {
    var positions: [String: HistoryPosition] = [:]
    for part in parts {
      if let position = part.outcome.historyPosition { positions[part.store.identifier] = position }
    }
    return positions.isEmpty ? nil : PersistentHistoryToken(positions)
  }
}

/// What of a save went to one store.
struct SavedPart {
  let store: PersistentStore
  let request: SaveChangesRequest
  let outcome: SaveOutcome
  /// What a merge policy has made of the save; nil without conflicts.
  var conflicts: SaveConflicts?
}
