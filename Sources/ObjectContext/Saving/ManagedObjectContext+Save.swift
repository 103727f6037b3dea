import Foundation
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Saves all changes, in one atomic transaction per store. Does nothing if there are no changes.
  ///
  /// A save has these steps: `willSave` of the changed objects until no more objects change, delete rules, validation, permanent IDs, the
  /// transactions of the stores, `didSave`, notifications. After an error the context keeps its changes, though objects may already have
  /// permanent IDs. ``mergePolicy`` resolves conflicts: rows that others have changed since they were read, and unique values that are
  /// already used. In a canceled task nothing is saved.
  ///
  /// - Throws: ``ValidationError`` with all errors; ``MergePolicyError``; the ``pendingError``; ``StoreError`` with
  ///   ``StoreError/Code/mergeConflict`` or ``StoreError/Code/constraintConflict`` (all conflicts, with the values of both sides),
  ///   ``StoreError/Code/cancelled`` and others.
  public func save() throws {
    try rowSource.checkNotObserving(.save)
    mergeWaitingChanges()
    try deferredErrors.settle()
    try deferredErrors.checkPolicy()
    // A save ends the current event.
    defer {
      recorder?.closeEventGroup()
      dropRecentObjects()
    }
    guard needsSave else { return }
    guard let undo = recorder else { return try SaveSession(of: self).run() }
    let wasSaving = undo.isSaving
    undo.isSaving = true
    defer { undo.isSaving = wasSaving }
    try SaveSession(of: self).run()
  }

  // MARK: Permanent IDs

  /// Assigns permanent IDs to new objects before they are saved.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` if no store is open; with ``StoreError/Code/entityNotInStore`` if no
  ///   store holds an object's entity.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    defer { replaceReferences { registry.savedReference($0) } }
    try obtainIDs(for: objects)
  }

  func obtainIDs(for objects: [ManagedObject]) throws {
    // The pointers are only compared, never dereferenced.
    let here = Unmanaged.passUnretained(self).toOpaque()
    let areNew = { (object: ManagedObject) in object.currentID.isTemporaryID && object.contextReference?.toOpaque() == here }
    let temporary = objects.allSatisfy(areNew) ? objects : objects.filter(areNew)
    guard let first = temporary.first else { return }
    let firstSpace = space(of: first)
    // Usually there is one store.
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
        // The store assigned to an object may be closed, or may have been replaced by one with other entities.
        let entity = group[0].compiledEntity
        _ = try rowSource.openStores(holding: entity, includesSubentities: false, affectedStores: nil, .obtainPermanentIDs)
        throw StoreError(.assignedStoreNotOpen(entity: entity.name), operation: .obtainPermanentIDs)
      }
      let ids = try rowSource.obtainPermanentIDs(for: group.map(\.currentID), in: store)
      for (object, id) in zip(group, ids) { adopt(id, for: object) }
    }
  }

  /// Updates all relationships after objects got permanent IDs without being saved.
  ///
  /// - Parameter saved: Returns the current reference of an object.
  func replaceReferences(_ saved: (ObjectReference) -> ObjectReference) {
    if !registry.hasPermanentIDs { return }
    for object in unitOfWork.objects { object.replaceReferences(saved) }
  }
}

extension ManagedObject {
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

extension StoreError.Reason {
  static func assignedStoreNotOpen(entity: String) -> Self {
    Self(
      .noOpenStore, "An object of “\(entity)” was assigned to a store that is not open. Open it, or assign the object to another store.",
      entity: entity)
  }
}

// MARK: - Applying saved rows

extension ManagedObject {
  /// Updates the object after it was saved: adopts the row and clears its changes.
  ///
  /// - Parameters:
  ///   - row: The row; nil to keep the current one.
  ///   - save: The save, which maps references of new objects to permanent ones.
  final func takeSavedRow(_ row: RowImage?, of save: SaveSession) {
    withExtendedLifetime(row) { takeSavedRow(heldRow: row?.base, of: save) }
  }

  /// Adopts a saved row. The caller keeps the row alive.
  final func takeSavedRow(heldRow row: UnsafeRawPointer?, of save: SaveSession) {
    let overlay = takeOverlay()
    defer { overlay?.free() }
    if let row { setRow(row) }
    if let overlay, withEntity(\.hasTransientSlots) { keepTransientValues(of: overlay, save) }
    for state in toManyStates { state.commit(replacing: save.savedReference) }
    flags.subtract(.clearedBySave)
    updateDirectRow()
  }

  /// Keeps transient values, which live until the object becomes a fault.
  private func keepTransientValues(of former: Overlay, _ save: SaveSession) {
    let entity = compiledEntity
    for slot in entity.slots where slot.isTransient && former.has(slot.index) {
      var value = former[slot.index]
      if slot.relationship != nil, case .int(let word) = value {
        value = .int(save.savedReference(ObjectReference(rawValue: word)).rawValue)
      }
      overlayForWriting(of: entity).keep(value, at: slot.index)
    }
  }

  /// Adopts a row with new computed values. If another context has saved the object too, adopts the row as a refresh.
  final func takeComputedRow(_ row: RowImage) {
    guard let image, !flags.contains(.isPartial) else {
      // A fault reads its row when it fires.
      if flags.contains(.isFault) { return discardPartialRow() }
      return setRefreshedRow(row)
    }
    if flags.contains(.isFault) {
      self.image = row
    } else if image.version == row.version {
      self.image = row
      updateDirectRow()
    } else {
      setRefreshedRow(row)
    }
  }
}

// MARK: - Transactions

extension ManagedObjectContext {
  /// Runs a closure whose saves and fetches form one transaction of the store. All saves take effect when the closure returns, and none if
  /// it throws.
  ///
  /// Use this method for imports that do not fit into memory: save and ``reset()`` after each batch. Other contexts do not see the changes
  /// until the end. The stores must support transactions; with several stores, each has its own transaction. If the closure throws, the
  /// context is reset.
  ///
  /// - Throws: Any error of the closure; ``StoreError``, with ``StoreError/Code/invalidRequest`` if a store does not support transactions
  ///   or the context is nested in another one.
  public func performTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    if rowSource.parent != nil { throw StoreError(.transactionOfNestedContext, operation: .transaction) }
    try rowSource.checkNotObserving(.transaction)
    var result: Result?
    do {
      // Imports cannot be undone, so that undo does not retain what they insert.
      try unrecorded { try rowSource.performTransaction { result = try body() } }
    } catch {
      reset()
      throw error
    }
    guard let result else { throw unexpectedResult() }
    return result
  }
}

extension StoreError.Reason {
  static var transactionOfNestedContext: Self {
    Self(.invalidRequest, "A nested context saves atomically to its parent; run the transaction in the context that saves to the stores.")
  }
}
