import ObjectModel
import ObjectStore

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
      guard context.needsSave else { return context.unitOfWork.work() }
      let work = context.unitOfWork.work()
      try context.validate(work)
      // Validators may have set values, which need another validation, or changed other objects, which need to be saved.
      if !context.unitOfWork.hasPendingChanges { return work }
      if isRevalidation, context.unitOfWork.work().hasSameObjects(as: work) { return work }
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
