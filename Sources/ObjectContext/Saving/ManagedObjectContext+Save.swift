// ManagedObjectContext+Save: saving, and permanent IDs for new objects.
import Foundation
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Saves all changes, in one transaction for each store, which writes all of its part or nothing. Without changes nothing happens.
  ///
  /// The steps: `willSave` of the changed objects until none changes any more, delete rules, validation, permanent IDs, the stores' transactions, `didSave`,
  /// notifications. On an error the context keeps its changes (objects may have got their permanent IDs already). Rows that others have changed since they were
  /// read, and unique values that are taken, are dealt with as ``mergePolicy`` says. In a task that is cancelled nothing is saved.
  /// - Throws: ``ValidationError`` (all errors at once), ``MergePolicyError``, what ``pendingError`` tells, or ``StoreError`` with
  ///   ``StoreError/Code/mergeConflict``, ``StoreError/Code/constraintConflict`` (all conflicts at once, with the values of both sides),
  ///   ``StoreError/Code/cancelled`` and others.
  public func save() throws {
    mergeWaitingChanges()
    try notedErrors.settle()
    try notedErrors.checkPolicy()
    // A save ends an event.
    defer {
      recorder?.closeEventGroup()
      dropRecentObjects()
    }
    guard isToBeSaved else { return }
    guard let undo = recorder else { return try SaveSession(of: self).run() }
    let wasSaving = undo.isSaving
    undo.isSaving = true
    defer { undo.isSaving = wasSaving }
    try SaveSession(of: self).run()
  }

  // MARK: Permanent IDs

  /// Gives permanent IDs to new objects, before they are saved.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` when no store is open, ``StoreError/Code/entityNotInStore`` when none holds an
  ///   object's entity.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    defer { replaceReferences { registry.savedReference($0) } }
    try obtainIDs(for: objects)
  }

  func obtainIDs(for objects: [ManagedObject]) throws {
    // Addresses are compared, nothing is read.
    let here = Unmanaged.passUnretained(self).toOpaque()
    let areNew = { (object: ManagedObject) in object.currentID.isTemporaryID && object.contextReference?.toOpaque() == here }
    let temporary = objects.allSatisfy(areNew) ? objects : objects.filter(areNew)
    guard let first = temporary.first else { return }
    let firstSpace = space(of: first)
    // As a rule there is one store.
    let isOneSpace = temporary.allSatisfy { space(of: $0) == firstSpace }
    for space in isOneSpace ? [firstSpace] : Set(temporary.map { space(of: $0) }) {
      let group = isOneSpace ? temporary : temporary.filter { self.space(of: $0) == space }
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
        throw StoreError(.assignedStoreNotOpen(entity: entity.name), operation: .obtainPermanentIDs)
      }
      let ids = try rowSource.obtainPermanentIDs(for: group.map(\.currentID), in: store)
      for (object, id) in zip(group, ids) { adopt(id, for: object) }
    }
  }

  /// Objects got permanent IDs without being saved: from here on relationships know them by these.
  ///
  /// - Parameter saved: The present reference of an object.
  func replaceReferences(_ saved: (ObjectReference) -> ObjectReference) {
    if !registry.hasPermanentIDs { return }
    for object in unitOfWork.objects { object.replaceReferences(saved) }
  }
}

extension ManagedObject {
  /// Relationships know objects by other references from now on.
  final func replaceReferences(_ saved: (ObjectReference) -> ObjectReference) {
    if let overlay {
      for slot in compiledEntity.slots where slot.relationship != nil && overlay.has(slot.index) {
        guard case .int(let word) = overlay[slot.index] else { continue }
        overlay[slot.index] = .int(saved(ObjectReference(rawValue: word)).rawValue)
      }
    }
    for state in toManyStates { state.replace(saved) }
  }
}
