// ManagedObjectContext+Conflicts: saves whose conflicts a merge policy resolves, and what objects get of it.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// How often a save to one store is tried while others change its rows.
  private static var mergeRounds: Int { 20 }

  /// Saves to one store. Conflicts are resolved as the merge policy says, and the save is tried again.
  func save(_ request: SaveChangesRequest, to store: PersistentStore) throws -> SavedPart {
    var request = request
    var conflicts: SaveConflicts?
    for round in 1... {
      do {
        let outcome = request.isEmpty ? SaveOutcome() : try rowSource.save(request, to: store)
        return SavedPart(store: store, request: request, outcome: outcome, conflicts: conflicts)
      } catch let error as StoreError where error.code == .mergeConflict || error.code == .constraintConflict {
        let known = conflicts ?? SaveConflicts(request, to: store, of: self)
        conflicts = known
        if round > Self.mergeRounds { throw try known.described(error) }
        try known.resolve(error)
        try known.validate()
        request = known.makeRequest()
      }
    }
    preconditionFailure("the loop has no end")
  }

  /// Objects take what a merge policy has made of them.
  ///
  /// - Returns: The objects that it concerns, for `awake(fromSnapshotEvents:)`.
  func takeMergedRows(of part: SavedPart, _ conflicts: SaveConflicts, _ work: inout SaveWork) -> [ManagedObject] {
    let space = part.store.space.number
    var (kept, discarded): (Set<ManagedObject>, Set<ManagedObject>) = ([], [])
    for new in conflicts.merged.keys {
      let survivor = conflicts.survivor(of: new)
      mergedReferences[new] = survivor
      guard let object = registeredObject(new, space: space) else { continue }
      if registeredObject(survivor, space: space) == nil, survivor.entity == new.entity {
        // Whoever holds the new object goes on with the stored one's identity.
        rekey(object, to: conflicts.objectID(survivor))
        kept.insert(object)
      } else {
        discarded.insert(object)
      }
    }
    for row in part.request.inserted { registeredObject(row.reference, space: space)?.takeSavedRow(row) }
    for update in part.request.updated { registeredObject(update.row.reference, space: space)?.takeSavedRow(update.row) }
    for (reference, row) in conflicts.refreshed { takeStoredRow(row, of: registeredObject(reference, space: space)) }
    for object in discarded {
      leave(object)
      if let survivor = mergedReferences[object.currentID.reference] { object.currentID = conflicts.objectID(survivor) }
    }
    let gone = Set(conflicts.gone.compactMap { registeredObject($0, space: space) })
    for object in gone { leave(object) }
    let restored = Set(conflicts.restored.compactMap { registeredObject($0, space: space) })
    work = work.without(discarded.union(gone), merged: kept, restored: restored)
    return conflicts.touched.compactMap { registeredObject($0, space: space) }.filter { !gone.contains($0) && !$0.isDeleted }
  }

  private func takeStoredRow(_ row: RowImage, of object: ManagedObject?) {
    guard let object else { return }
    if object.flags.contains(.isDeleted) { object.flags.subtract([.isDeleted, .isListedAsDeleted, .deletePropagated]) }
    object.takeSavedRow(row)
  }

  private func leave(_ object: ManagedObject) {
    memberStates.noteGone(object.currentID)
    object.flags.subtract([.isInserted, .isUpdated, .isDeleted])
    object.flags.insert(.isGone)
    detach(object)
  }

  /// After rows were merged, members are read anew when they are asked for: what was changed here is not all that has changed.
  func unloadMembers(touchedBy parts: [SavedPart]) {
    var entities: Set<Int> = []
    for part in parts {
      guard let conflicts = part.conflicts else { continue }
      for reference in conflicts.touched.union(conflicts.gone).union(conflicts.merged.keys) {
        entities.insert(reference.entity)
        for state in registeredObject(reference, space: part.store.space.number)?.toManyStates ?? [] { state?.unload() }
      }
    }
    if !entities.isEmpty { unloadMembers(ofEntities: entities) }
  }
}
