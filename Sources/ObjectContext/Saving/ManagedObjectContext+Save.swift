// ManagedObjectContext+Save: a save as a list of steps.
import Foundation
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Saves all changes: one transaction a store, all of it or nothing. Without changes nothing happens.
  ///
  /// The steps: `willSave` of the changed objects until none changes more, delete rules, validation, permanent IDs, the stores' transactions, `didSave`,
  /// notifications. On an error the context keeps its changes (objects may have got their permanent IDs already).
  /// Rows that others have changed since they were read, and unique values that are taken, are dealt with as ``mergePolicy`` says.
  /// In a task that is cancelled nothing is saved.
  /// - Throws: ``ValidationError`` (all errors at once), ``MergePolicyError``, what ``pendingError`` tells, or ``StoreError`` with
  ///   ``StoreError/Code/mergeConflict``, ``StoreError/Code/constraintConflict`` (all conflicts at once, with the values of both sides),
  ///   ``StoreError/Code/cancelled`` and others.
  public func save() throws {
    mergeWaitingChanges()
    try throwNotedError()
    if let mergePolicyError { throw mergePolicyError }
    guard isToBeSaved else { return }
    notifications.postWillSave(in: self)
    let work = try settle()
    if work.isEmpty { return }
    var done: [SavedPart] = []
    do {
      try obtainIDs(for: work.inserted.filter(\.currentID.isTemporaryID))
      try checkRows(of: work.updated)
      let requests = try makeRequests(work)
      let cancellation = rowSource.cancellation
      defer { rowSource.cancellation = cancellation }
      for (store, request) in requests {
        done.append(try save(request, to: store))
        // What one store has, the others are to have too: from here on nobody can call the save off.
        rowSource.cancellation = nil
      }
    } catch {
      // What some stores have already is saved; the next save must not write it again.
      if !done.isEmpty { finish(work.part(inStores: done.map(\.store)), parts: done, isWhole: false) }
      replaceTemporaryReferences()
      throw error
    }
    finish(work, parts: done, isWhole: true)
  }

  // MARK: Steps

  /// Runs everything of the application's that may change objects, until nothing more changes: `willSave`, delete rules, observers, validation.
  private func settle() throws -> SaveWork {
    defer { unitOfWork.forgetWillSaveCalls() }
    propagateDeletes()
    endEvent()
    var isValidatedAgain = false
    var rounds = 0
    while true {
      try callWillSave(rounds: &rounds)
      noticeChangesInPlace()
      endEvent()
      try throwNotedError()
      guard isToBeSaved else { return unitOfWork.work() }
      let work = unitOfWork.work()
      try validate(work)
      // Validators may have set values, which are validated once more, or changed further objects, which are to be saved too.
      if !unitOfWork.hasPendingChanges { return work }
      if isValidatedAgain, unitOfWork.work().hasSameObjects(as: work) { return work }
      isValidatedAgain = true
    }
  }

  /// Calls `willSave` on every changed object, and again on those that others' `willSave` has changed.
  private func callWillSave(rounds: inout Int) throws {
    var changed: [ManagedObject] = []
    var waiting = unitOfWork.filter { $0.hasChanges && !$0.flags.contains(.willSaveCalled) }
    while !waiting.isEmpty {
      rounds += 1
      guard rounds <= 1000 else {
        throw StoreError(
          .invalidRequest, "willSave() of some objects changes others without end; set values there only if they differ.",
          operation: .save)
      }
      var again = Set<ManagedObject>()
      for object in waiting where object.hasChanges {
        object.flags.insert(.willSaveCalled)
        object.willSave()
        if !unitOfWork.hasPendingChanges { continue }
        let touched = unitOfWork.takePending()
        // What an object changes of itself needs no further call.
        for other in touched where other !== object && other.flags.contains(.willSaveCalled) { again.insert(other) }
        changed.append(contentsOf: touched)
      }
      propagateDeletes()
      waiting = unitOfWork.filter { $0.hasChanges && (!$0.flags.contains(.willSaveCalled) || again.contains($0)) }
    }
    unitOfWork.restorePending(changed)
  }

  /// Gives permanent IDs to new objects, before they are saved.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` when no store is open, ``StoreError/Code/entityNotInStore`` when none holds an
  ///   object's entity.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    defer { replaceTemporaryReferences() }
    try obtainIDs(for: objects)
  }

  func obtainIDs(for objects: [ManagedObject]) throws {
    let temporary = objects.filter { $0.currentID.isTemporaryID && $0.managedObjectContext === self }
    if temporary.isEmpty { return }
    let spaces = temporary.map { space(of: $0) }
    for space in Set(spaces) {
      let group = spaces.allSatisfy { $0 == space } ? temporary : zip(spaces, temporary).filter { $0.0 == space }.map(\.1)
      var held: UInt32?
      guard let store = rowSource.store(numbered: space),
        group.allSatisfy({
          let number = $0.currentID.entityNumber
          if number == held { return true }
          held = number
          return store.entityNumbers.contains(Int(number))
        })
      else {
        // A store that an object was assigned to may be closed, or hold other entities since.
        let entity = group[0].compiledEntity
        _ = try rowSource.openStores(holding: entity, includesSubentities: false, affectedStores: nil, .obtainPermanentIDs)
        throw StoreError(
          .noOpenStore,
          "The store that an object of “\(entity.name)” was assigned to is not open. Open it, or assign the object to another.",
          operation: .obtainPermanentIDs)
      }
      let ids = try rowSource.obtainPermanentIDs(for: group.map(\.currentID), in: store)
      for (object, id) in zip(group, ids) { adopt(id, for: object) }
    }
  }

  /// The reference of an object as it is saved: of a new object its permanent one.
  func savedReference(_ reference: ObjectReference) -> ObjectReference {
    let saved = registry.savedReference(reference)
    return mergedReferences.isEmpty ? saved : mergedReferences[saved] ?? saved
  }

  /// Objects got permanent IDs without being saved: from here on relationships know them by these.
  private func replaceTemporaryReferences() {
    if !registry.hasPermanentIDs { return }
    for object in unitOfWork.objects {
      if let overlay = object.overlay {
        for slot in object.compiledEntity.slots where slot.relationship != nil && overlay.present.contains(slot.index) {
          guard case .int(let word) = overlay[slot.index] else { continue }
          overlay[slot.index] = .int(savedReference(ObjectReference(rawValue: word)).rawValue)
        }
      }
      for state in object.toManyStates ?? [] { state?.replace(savedReference) }
    }
  }

  /// Members were added to objects whose rows nobody has read: whether these are there still is asked, of all at once.
  private func checkRows(of objects: [ManagedObject]) throws {
    var unread: [UInt32: [ManagedObject]] = [:]
    for object in objects where object.image == nil && !object.currentID.isTemporaryID {
      guard let states = object.toManyStates,
        states.contains(where: { $0.map { !$0.added.isEmpty && !$0.relationship.isTransient } ?? false })
      else { continue }
      unread[object.currentID.space, default: []].append(object)
    }
    for (space, objects) in unread {
      guard let store = rowSource.store(numbered: space) else { continue }
      let ids = objects.filter { rowSource.rowAtHand($0.currentID.reference, in: store) == nil }.map(\.currentID)
      if ids.isEmpty { continue }
      let found = Set(try rowSource.rows(of: ids, in: store).references)
      guard let gone = ids.first(where: { !found.contains($0.reference) }) else { continue }
      var error = StoreError(
        .objectNotFound, "Members were added to the object \(gone.uriString), whose row is gone: somebody has deleted it.",
        operation: .save)
      error.entityName = gone.entityName
      throw error
    }
  }

  private func makeRequests(_ work: SaveWork) throws -> [(PersistentStore, SaveChangesRequest)] {
    var builders: [UInt32: SaveRequestBuilder] = [:]
    var order: [UInt32] = []
    var last: SaveRequestBuilder?
    func builder(_ object: ManagedObject) -> SaveRequestBuilder {
      let space = object.currentID.space
      if let last, last.space == space { return last }
      let found = makeBuilder(space)
      last = found
      return found
    }
    func makeBuilder(_ space: UInt32) -> SaveRequestBuilder {
      if let known = builders[space] { return known }
      let made = SaveRequestBuilder(context: self, space: space, insertedCount: work.inserted.count)
      builders[space] = made
      order.append(space)
      return made
    }
    for object in work.inserted { builder(object).insert(object) }
    for object in work.updated { builder(object).update(object) }
    // Of rows that are gone nothing is left to delete.
    for object in work.deleted where !object.flags.contains(.isInaccessible) { builder(object).delete(object) }
    for object in work.locked { builder(object).lock(object) }
    return try order.map { space in
      guard let builder = builders[space], let first = work.first(inSpace: space) else { throw unexpectedResult() }
      return (try rowSource.openStore(of: first, .save), try builder.finish())
    }
  }

  /// The stores have everything: objects take their new rows, deleted ones leave.
  private func finish(_ work: SaveWork, parts: [SavedPart], isWhole: Bool) {
    let changed = work
    var work = work
    var merged: [ManagedObject] = []
    for part in parts {
      if let conflicts = part.conflicts {
        merged += takeMergedRows(of: part, conflicts, &work)
        continue
      }
      let space = part.store.space.number
      var next = 0
      for object in work.inserted where object.currentID.space == space {
        object.takeSavedRow(part.request.inserted[next])
        next += 1
      }
      for update in part.request.updated { registeredObject(update.row.reference, space: space)?.takeSavedRow(update.row) }
    }
    for object in work.updated where object.flags.contains(.isUpdated) { object.takeSavedRow(nil) }
    if isWhole {
      unitOfWork.finishSave()
    } else {
      unitOfWork.finishSave(of: changed)
      replaceTemporaryReferences()
    }
    // Every reference to an object that was new has been replaced.
    registry.forgetPermanentIDs()
    mergedReferences = [:]
    for object in work.deleted {
      memberStates.noteGone(object.currentID)
      object.flags.subtract([.isDeleted, .isUpdated, .isInserted])
      object.flags.insert(.isGone)
      detach(object)
    }
    forgetGoneMembers()
    unloadMembers(touchedBy: parts)
    handedOut.sweep()
    let refreshed = takeComputedValues(of: parts)
    for object in merged { object.awake(fromSnapshotEvents: .mergePolicy) }
    for list in [work.inserted, work.updated, work.deleted] {
      for object in list { object.didSave() }
    }
    notifications.postRefreshed(refreshed + merged, in: self)
    notifications.postDidSave(work, in: self)
    for part in parts {
      rowSource.publish { rowSource.changeSet(BatchChanges(allOf: part.request, part.outcome), of: part.store) }
    }
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

/// The objects of one save.
struct SaveWork {
  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && locked.isEmpty }

  /// The ID of one of the objects in a store.
  func first(inSpace space: UInt32) -> ManagedObjectID? {
    [inserted, updated, deleted, locked].joined().lazy.map(\.currentID).first { $0.space == space }
  }

  func hasSameObjects(as other: SaveWork) -> Bool {
    inserted == other.inserted && updated == other.updated && deleted == other.deleted
  }

  /// What was saved in the end, after a merge policy has taken objects out.
  ///
  /// - Parameters:
  ///   - gone: Objects that are in no store.
  ///   - merged: New objects that stand for stored ones now.
  ///   - restored: Objects that are not deleted after all.
  func without(_ gone: Set<ManagedObject>, merged: Set<ManagedObject>, restored: Set<ManagedObject>) -> SaveWork {
    SaveWork(
      inserted: inserted.filter { !gone.contains($0) && !merged.contains($0) },
      updated: updated.filter { !gone.contains($0) } + inserted.filter(merged.contains),
      deleted: deleted.filter { !gone.contains($0) && !restored.contains($0) }, locked: locked)
  }

  /// What of it is in some stores.
  func part(inStores stores: [PersistentStore]) -> SaveWork {
    let spaces = Set(stores.map(\.space.number))
    func isThere(_ object: ManagedObject) -> Bool { spaces.contains(object.currentID.space) }
    return SaveWork(
      inserted: inserted.filter(isThere), updated: updated.filter(isThere), deleted: deleted.filter(isThere),
      locked: locked.filter(isThere))
  }

  let inserted: [ManagedObject]
  let updated: [ManagedObject]
  let deleted: [ManagedObject]
  let locked: [ManagedObject]
}

extension ManagedObject {
  /// The object was saved: its values are those of the row (nil keeps the row it has), and nothing is changed any more.
  final func takeSavedRow(_ row: RowImage?) {
    if let row { image = row }
    if let overlay {
      let entity = compiledEntity
      self.overlay = nil
      if entity.hasTransientSlots {
        // Transient values live on until the object becomes a fault.
        for slot in entity.slots where slot.isTransient && overlay.present.contains(slot.index) {
          var value = overlay[slot.index]
          if slot.relationship != nil, case .int(let word) = value, let context = managedObjectContext {
            value = .int(context.savedReference(ObjectReference(rawValue: word)).rawValue)
          }
          overlayForWriting().keep(value, at: slot.index)
        }
      }
    }
    if let toManyStates, let context = managedObjectContext {
      for state in toManyStates { state?.commit(replacing: context.savedReference) }
    }
    flags.subtract([.isInserted, .isUpdated])
    updatePlainRow()
  }
}
