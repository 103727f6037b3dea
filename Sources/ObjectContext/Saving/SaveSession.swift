import ObjectModel
import ObjectStore

/// One save: settling the changes → permanent IDs → requests → transactions of the stores → updating objects → notifications.
///
/// The session holds all state of the save; a context has none between saves. If an object's `didSave` saves again, that is another
/// session.
final class SaveSession {
  let context: ManagedObjectContext
  private var work = SaveSet(inserted: [], updated: [], deleted: [], locked: [])
  /// The parts that stores have committed.
  private var parts: [SavedPart] = []
  /// New objects, and the stored objects into which they were merged.
  private var merged: [ObjectReference: ObjectReference] = [:]
  /// Changes that were made while the stores wrote.
  private var edits: SaveEdits?
  /// Objects that a merge policy has changed.
  private var mergedObjects: [ManagedObject] = []
  /// The maximum number of attempts to save to one store while others change its rows.
  private static var mergeRounds: Int { 100 }

  init(of context: ManagedObjectContext) { self.context = context }

  /// Performs the save.
  ///
  /// - Throws: The errors of ``ManagedObjectContext/save()``.
  func run() throws {
    context.notifications.postWillSave(in: context)
    do { work = try settle() } catch {
      context.unitOfWork.resetWillSaveCalls()
      throw error
    }
    if work.isEmpty { return context.unitOfWork.resetWillSaveCalls() }
    if context.recorder != nil { context.keepUndoState(deleting: work.deleted) }
    do {
      try context.unrecorded {
        try context.obtainIDs(for: work.inserted)
        try checkRows(of: work)
        try executeKeepingEdits(try makeRequests(work))
      }
    } catch {
      // Parts that some stores have committed are saved; the next save must not write them again.
      if !parts.isEmpty {
        work = work.part(inStores: parts.map(\.store))
        finish(isWhole: false)
      }
      context.replaceReferences(savedReference)
      context.unitOfWork.resetWillSaveCalls()
      throw error
    }
    finish(isWhole: true)
  }

  // MARK: Storing

  /// Executes the requests. Changes that the application makes to objects meanwhile, in calls of transaction observers, are not saved.
  private func executeKeepingEdits(_ requests: [(PersistentStore, SaveChangesRequest)]) throws {
    let earlier = context.unitOfWork.takePending()
    defer { context.unitOfWork.restorePending(earlier) }
    try execute(requests)
    if context.unitOfWork.hasPendingChanges {
      edits = SaveEdits(context.unitOfWork.takePending(), during: work, requests, isMerged: parts.contains { $0.conflicts != nil })
    }
  }

  private func execute(_ requests: [(PersistentStore, SaveChangesRequest)]) throws {
    let cancellation = context.rowSource.cancellation
    defer { context.rowSource.cancellation = cancellation }
    if requests.count > 1, try executeTogether(requests) { return }
    for (store, request) in requests {
      parts.append(try save(request, to: store))
      // After the first commit the save cannot be canceled, so that the other stores receive their parts.
      context.rowSource.cancellation = nil
    }
  }

  /// Saves to several stores such that the transaction observers of all of them can reject the save before the first commit.
  ///
  /// - Returns: False if nothing was saved, because this is not possible or not needed.
  private func executeTogether(_ requests: [(PersistentStore, SaveChangesRequest)]) throws -> Bool {
    var saved: [SavedPart] = []
    let stores = requests.map(\.0)
    return try context.rowSource.performTogether(in: stores) { store in
      // Stores that were committed before another one fails are saved.
      parts += saved.filter { $0.store === store }
    } _: {
      for (store, request) in requests { saved.append(try save(request, to: store)) }
    }
  }

  /// Saves to one store. Resolves conflicts through the merge policy and retries.
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
    // `1...` never ends, but the compiler requires a statement here.
    preconditionFailure("the loop has no end")
  }

  // MARK: Updating objects

  /// Updates the objects after the stores have committed, and sends notifications.
  private func finish(isWhole: Bool) {
    notifyObservers(of: context.unrecorded { applyResults(isWhole: isWhole && edits == nil) })
    edits?.restore(in: context)
  }

  /// Updates the objects with the rows that were saved.
  ///
  /// - Returns: The objects for which stores have computed values, and the event to send.
  private func applyResults(isWhole: Bool) -> ([ManagedObject], ContextEvent?) {
    // The saved rows are not part of the pinned state.
    context.rowSource.advance()
    // Created first, because objects lose their changes when they adopt their rows.
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
    if context.recorder != nil { context.recordSavedForUndo(savedReference) }
    // All references to new objects have been replaced.
    context.registry.forgetPermanentIDs()
    for object in work.deleted { removeFromContext(object) }
    context.discardRemovedMembers()
    unloadMembers()
    context.mutableValues.sweep()
    if context.changeReceiver.hasNested { context.notifyNested(ofSaved: changed, parts.map { ($0.store, $0.request, $0.outcome) }) }
    return (takeComputedValues(), event)
  }

  private func takeRows(of part: SavedPart) {
    if let conflicts = part.conflicts { return takeMergedRows(of: part, conflicts) }
    let space = part.store.space.number
    var next = 0
    let inserted = part.request.inserted
    MemoryPrefetch.visit(work.inserted) { object in
      if object.ownSpace != space { return }
      object.takeSavedRow(heldRow: inserted.base(next), of: self)
      next += 1
    }
    // The updates have the order of the objects, without objects that have only new members.
    let updates = part.request.updated
    next = 0
    // The request retains the rows.
    MemoryPrefetch.visit(work.updated) { object in
      guard object.ownSpace == space, next < updates.count, object.ownReference == RowImage.reference(updates[next].row.base) else {
        return
      }
      object.takeSavedRow(heldRow: updates[next].row.base, of: self)
      next += 1
    }
    // An object registered with the ID of a superentity is found by its key only.
    for update in updates[next...] {
      context.registeredObject(update.row.reference, space: space)?.takeSavedRow(update.row, of: self)
    }
  }

  /// Returns the saved reference of an object: the permanent one of a new object, or that of the object into which it was merged.
  func savedReference(_ reference: ObjectReference) -> ObjectReference {
    let saved = context.registry.savedReference(reference)
    return merged.isEmpty ? saved : merged[saved] ?? saved
  }

  /// Updates the objects with rows that a merge policy has changed.
  private func takeMergedRows(of part: SavedPart, _ conflicts: SaveConflicts) {
    let space = part.store.space.number
    var (kept, discarded): (Set<ManagedObject>, Set<ManagedObject>) = ([], [])
    for new in conflicts.merged.keys {
      let survivor = conflicts.survivor(of: new)
      merged[new] = survivor
      guard let object = context.registeredObject(new, space: space) else { continue }
      if context.registeredObject(survivor, space: space) == nil, survivor.entity == new.entity {
        // The new object adopts the stored object's identity.
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
      removeFromContext(object)
      if let survivor = merged[object.currentID.reference] { object.currentID = conflicts.objectID(survivor) }
    }
    let deletedInStore = Set(conflicts.deletedInStore.compactMap { context.registeredObject($0, space: space) })
    for object in deletedInStore { removeFromContext(object) }
    let restored = Set(conflicts.restored.compactMap { context.registeredObject($0, space: space) })
    work = work.without(discarded.union(deletedInStore), merged: kept, restored: restored)
    mergedObjects += conflicts.affectedObjects.compactMap { context.registeredObject($0, space: space) }
      .filter { !deletedInStore.contains($0) && !$0.isDeleted }
  }

  /// Removes an object whose row is deleted from the context.
  private func removeFromContext(_ object: ManagedObject) {
    context.membershipTracker.markRemoved(object.currentID)
    object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
    object.flags.insert(.isRemoved)
    context.detach(object)
  }

  /// Unloads members after rows were merged, because they contain changes of others.
  private func unloadMembers() {
    var entities: Set<Int> = []
    for part in parts {
      guard let conflicts = part.conflicts else { continue }
      for reference in conflicts.affectedObjects.union(conflicts.deletedInStore).union(conflicts.merged.keys) {
        entities.insert(reference.entity)
        guard let object = context.registeredObject(reference, space: part.store.space.number) else { continue }
        for state in object.toManyStates { state.unload() }
      }
    }
    if !entities.isEmpty { context.unloadMembers(ofEntities: entities) }
  }

  /// Updates registered objects with the values that stores have computed. Objects whose rows the stores did not return are read together.
  ///
  /// - Returns: The objects with new values.
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

  // MARK: Notifications

  private func notifyObservers(of result: (refreshed: [ManagedObject], event: ContextEvent?)) {
    let (refreshed, event) = result
    if let event {
      context.notifyObservers {
        var finished = event.finished(work, computed: refreshed, merged: mergedObjects)
        // After a merge, objects may have left the context or changed their identity.
        finished.isWhole = parts.contains { $0.conflicts != nil }
        return finished
      }
    }
    for object in mergedObjects { object.awake(fromSnapshotEvents: .mergePolicy) }
    work.forEachChanged { $0.didSave() }
    if !refreshed.isEmpty || !mergedObjects.isEmpty { context.notifications.postRefreshed(refreshed + mergedObjects, in: context) }
    context.notifications.postDidSave(work, historyToken, in: context)
    context.finishNotifying()
  }

  /// The position after the save in the histories of the stores; nil if no store has a history.
  private var historyToken: PersistentHistoryToken? {
    var positions: [String: HistoryPosition] = [:]
    for part in parts {
      if let position = part.outcome.historyPosition { positions[part.store.identifier] = position }
    }
    return positions.isEmpty ? nil : PersistentHistoryToken(positions)
  }
}

/// The part of a save for one store.
struct SavedPart {
  let store: PersistentStore
  let request: SaveChangesRequest
  let outcome: SaveOutcome
  /// The merged content of the save; nil without conflicts.
  var conflicts: SaveConflicts?
}

// MARK: - Preparing a save

extension SaveSession {
  /// Runs all application code that may change objects, until no more changes occur: `willSave`, delete rules, observers, validation.
  ///
  /// If nothing is saved, the caller resets the record of `willSave` calls in the unit of work.
  func settle() throws -> SaveSet {
    if context.unitOfWork.resumeRules(), let recorder = context.recorder {
      // The effects of delete rules belong to the last undo or redo, not to a separate action.
      recorder.addToLastGroup { context.propagateDeletes() }
    } else {
      context.propagateDeletes()
    }
    context.endEvent()
    var isRevalidation = false
    var rounds = 0
    while true {
      try callWillSave(rounds: &rounds)
      context.recordInPlaceMutations()
      context.endEvent()
      try context.deferredErrors.settle()
      guard context.needsSave else { return context.unitOfWork.objectsToSave() }
      let work = context.unitOfWork.objectsToSave()
      try context.validate(work)
      // Validators may have set values, which need another validation, or changed other objects, which need to be saved.
      if !context.unitOfWork.hasPendingChanges { return work }
      if isRevalidation, context.unitOfWork.objectsToSave().hasSameObjects(as: work) { return work }
      isRevalidation = true
    }
  }

  /// Calls `willSave` on each changed object, and again on objects that the `willSave` of another object has changed.
  private func callWillSave(rounds: inout Int) throws {
    var changed: [ManagedObject] = []
    var again = Set<ManagedObject>()
    func call(_ object: ManagedObject) {
      object.flags.insert(.willSaveCalled)
      object.willSave()
      if !context.unitOfWork.hasPendingChanges { return }
      let touched = context.unitOfWork.takePending()
      // An object's changes to itself need no further call.
      for other in touched where other !== object && other.flags.contains(.willSaveCalled) { again.insert(other) }
      changed.append(contentsOf: touched)
    }
    rounds += 1
    // A snapshot of the lists. Objects that `willSave` adds follow in the next round.
    let listed = context.unitOfWork.listed
    listed.forEachChanged { object in
      if object.hasChanges && !object.flags.contains(.willSaveCalled) { call(object) }
    }
    // Usually `willSave` changes nothing.
    if changed.isEmpty { return }
    while true {
      context.propagateDeletes()
      let waiting = context.unitOfWork.filter { $0.hasChanges && (!$0.flags.contains(.willSaveCalled) || again.contains($0)) }
      if waiting.isEmpty { break }
      rounds += 1
      guard rounds <= 1000 else {
        throw StoreError(.endlessWillSave, operation: .save)
      }
      again = []
      for object in waiting where object.hasChanges { call(object) }
    }
    context.unitOfWork.restorePending(changed)
  }

  /// The maximum number of checked rows that are kept in the cache.
  private static var maximumRetainedRows: Int { 250 }

  /// Checks the existence of rows whose versions the save does not check: objects with only added members, and destinations of new links
  /// without an inverse. Reads all rows at once, except those whose newest state is cached.
  func checkRows(of work: SaveSet) throws {
    var unread: [UInt32: [ManagedObjectID]] = [:]
    for object in work.updated where object.overlay == nil && !object.currentID.isTemporaryID {
      if object.flags.reinsertsRow(object.row) { continue }
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
      let ids = objects.filter { context.rowSource.newestCachedRow($0.reference, in: store) == nil }
      if ids.isEmpty { continue }
      // The rows of an import would fill the cache without being used.
      let rows = try context.rowSource.newestRows(of: ids, in: store, isPassing: ids.count > Self.maximumRetainedRows)
      let found = Set(rows.references)
      guard let missing = ids.first(where: { !found.contains($0.reference) }) else { continue }
      throw StoreError(destinations.contains(missing) ? .lostDestination(missing) : .lostMembers(missing), operation: .save)
    }
  }

  /// Adds the destinations of an object's new links whose other end is not saved, so that their rows are not checked otherwise.
  private func addUncheckedDestinations(of object: ManagedObject, to destinations: inout Set<ManagedObjectID>) {
    let space = context.space(of: object)
    func add(_ reference: ObjectReference) {
      if reference.key <= 0 { return }
      if let destination = context.registeredObject(reference, space: space) {
        // New and deleted objects need no row, and the version of a changed object is checked.
        if !destination.flags.isDisjoint(with: [.isInserted, .isDeleted]) { return }
        if destination.isUpdated, destination.overlay != nil || destination.flags.reinsertsRow(destination.row) { return }
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
      // Members that are known to be deleted are not saved.
      for reference in state.added.elements where !context.membershipTracker.isRemoved(reference) { add(reference) }
    }
  }

  func makeRequests(_ work: SaveSet) throws -> [(PersistentStore, SaveChangesRequest)] {
    var builders: [SaveRequestBuilder] = []
    func builder(_ space: UInt32) -> SaveRequestBuilder {
      if let known = builders.first(where: { $0.space == space }) { return known }
      let made = SaveRequestBuilder(context: context, space: space, insertedCount: work.inserted.count)
      builders.append(made)
      return made
    }
    /// Passes each object to the builder of its store. Objects of the same store are usually adjacent.
    func build(_ objects: [ManagedObject], _ body: (SaveRequestBuilder, ManagedObject) -> Void) {
      guard var current = objects.first.map({ builder($0.ownSpace) }) else { return }
      MemoryPrefetch.visit(objects) { object in
        if object.ownSpace != current.space { current = builder(object.ownSpace) }
        body(current, object)
      }
    }
    build(work.inserted) { $0.insert($1) }
    build(work.updated) { $0.update($1) }
    // Rows that others have deleted need no deletion.
    build(work.deleted.filter { !$0.flags.contains(.isInaccessible) }) { $0.delete($1) }
    build(work.locked) { $0.lock($1) }
    return try builders.map { builder in
      guard let first = work.first(inSpace: builder.space) else { throw context.unexpectedResult() }
      return (try context.rowSource.openStore(of: first, .save), try builder.finish())
    }
  }
}

extension StoreError.Reason {
  static func lostMembers(_ id: ManagedObjectID) -> Self {
    Self(.objectNotFound, "Members were added to the object \(id.uriString), whose row was deleted.", object: id)
  }

  static func lostDestination(_ id: ManagedObjectID) -> Self {
    Self(
      .objectNotFound,
      "A saved object refers to the object \(id.uriString), whose row was deleted elsewhere. Set the relationship to another object, or to nil.",
      object: id)
  }

  static var endlessWillSave: Self {
    Self(.invalidRequest, "willSave() implementations keep changing objects; set values in willSave() only if they differ.")
  }
}
