import ObjectModel
public import ObjectStore

/// A save to one store that has encountered conflicts, with the content that the merge policy changes in each round.
///
/// Operates on the rows of the request, not on objects. Objects change only after the store has accepted the save, so that a failed save
/// leaves them unchanged.
final class SaveConflicts {
  let context: ManagedObjectContext
  let store: PersistentStore
  let model: CompiledModel
  var space: UInt32 { store.space.number }

  // The content of the save.
  /// New rows, in order.
  private(set) var insertedOrder: [ObjectReference] = []
  private var insertedPositions: [ObjectReference: Int] = [:]
  var inserted: [ObjectReference: RowImage] = [:]
  private var updateOrder: [ObjectReference] = []
  var updates: [ObjectReference: SaveChangesRequest.Update] = [:]
  var deletions: [ObjectReference: Int64] = [:]
  var locked: [ObjectReference: Int64] = [:]
  var relationshipChanges: [SaveChangesRequest.RelationshipChange]

  // The state of the store.
  /// The stored rows on which updates are based: as they were read, or as conflicts have reported them.
  var bases: [ObjectReference: RowImage] = [:]
  /// The slots of merged rows that were set in memory.
  var setSlots: [ObjectReference: SlotMask] = [:]
  /// Stored rows that already have unique values of the save.
  var storedHolders: [ObjectReference: RowImage] = [:]

  // The effects on objects, in addition to what is written.
  /// Objects that adopt a stored row instead of being saved.
  private(set) var refreshed: [ObjectReference: RowImage] = [:]
  /// Objects whose deletion was canceled.
  var restored: Set<ObjectReference> = []
  /// Objects deleted by other contexts or processes, whose changes are discarded.
  var deletedInStore: Set<ObjectReference> = []
  /// New objects that are merged into others.
  var merged: [ObjectReference: ObjectReference] = [:]
  /// Merged objects to which no reference remains.
  var finishedMerges: Set<ObjectReference> = []
  /// The rows that were merged into survivors, until their partners are updated.
  var formerRows: [ObjectReference: [RowImage]] = [:]
  /// The objects in conflict, and those whose rows the resolution has changed.
  var affectedObjects: Set<ObjectReference> = []
  /// Objects whose rows were merged and not validated since.
  private var unvalidated: Set<ObjectReference> = []

  init(_ request: SaveChangesRequest, to store: PersistentStore, of context: ManagedObjectContext) {
    self.context = context
    self.store = store
    model = context.model
    relationshipChanges = request.relationshipChanges
    for row in request.inserted { insert(row) }
    for update in request.updated {
      updateOrder.append(update.row.reference)
      updates[update.row.reference] = update
      setSlots[update.row.reference] = update.changedSlots
    }
    for item in request.deleted { deletions[item.reference] = item.version }
    for item in request.locked { locked[item.reference] = item.version }
    unvalidated = []
  }

  /// Returns the objects whose rows were merged since the last call, in the order in which they are written.
  func takeMergedRows() -> [ObjectReference] {
    defer { unvalidated = [] }
    return unvalidated.isEmpty ? [] : (insertedOrder + updateOrder).filter { unvalidated.remove($0) != nil }
  }

  func makeRequest() -> SaveChangesRequest {
    var request = SaveChangesRequest()
    request.inserted = RowList(insertedOrder.compactMap { inserted[$0] })
    request.updated = updateOrder.compactMap { updates[$0] }
    request.deleted = deletions.map { reference, version in
      var deleted = SaveChangesRequest.VersionedReference(reference: reference, version: version)
      if let row = base(reference), row.version == version { deleted.previousRow = row }
      return deleted
    }
    request.locked = locked.map { SaveChangesRequest.VersionedReference(reference: $0.key, version: $0.value) }
    request.relationshipChanges = relationshipChanges
    return request
  }

  /// Computes the values of the policy's rules and decisions.
  var policyValues: PolicyValues { PolicyValues(policy: context.mergePolicy, model: model, space: space) }

  // MARK: Rows

  func entity(_ row: RowImage) -> CompiledEntity { model.entities[row.entityNumber] }

  func objectID(_ reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key)
  }

  func object(_ reference: ObjectReference) -> ManagedObject? { context.registeredObject(reference, space: space) }

  /// Returns the stored row on which an object's changes are based.
  func base(_ reference: ObjectReference) -> RowImage? { bases[reference] ?? object(reference)?.image }

  /// Returns the row that the save writes for an object; nil if it writes none.
  func pendingRow(_ reference: ObjectReference) -> RowImage? { inserted[reference] ?? updates[reference]?.row }

  func insert(_ row: RowImage) {
    unvalidated.insert(row.reference)
    guard inserted.updateValue(row, forKey: row.reference) == nil else { return }
    insertedPositions[row.reference] = insertedOrder.count
    insertedOrder.append(row.reference)
  }

  /// Returns objects in the order in which the save writes them, stored ones first. Stores report conflicts in any order.
  func inSavingOrder(_ references: [ObjectReference]) -> [ObjectReference] {
    references.enumerated().sorted { one, other in
      (insertedPositions[one.element] ?? -1, one.offset) < (insertedPositions[other.element] ?? -1, other.offset)
    }.map(\.element)
  }

  func refresh(_ row: RowImage) {
    updates[row.reference] = nil
    refreshed[row.reference] = row
  }

  /// Writes a row over the stored one, unless they are equal.
  func update(_ row: RowImage, over base: RowImage) {
    bases[row.reference] = base
    let changed = row.slots(differingFrom: base, of: entity(row))
    if changed.isEmpty { return refresh(base) }
    unvalidated.insert(row.reference)
    refreshed[row.reference] = nil
    if updates[row.reference] == nil { updateOrder.append(row.reference) }
    var update = SaveChangesRequest.Update(row: row, changedSlots: changed, oldVersion: base.version)
    update.previousRow = base
    updates[row.reference] = update
  }

  /// Returns a row with some values replaced.
  func edited(_ row: RowImage, _ values: [Int: Slot], version: Int64? = nil) -> RowImage {
    row.edited(values, of: entity(row), version: version)
  }

  /// Returns the current stored rows of objects. Omits deleted ones.
  func storedRows(_ references: some Collection<ObjectReference>) throws -> [ObjectReference: RowImage] {
    if references.isEmpty { return [:] }
    let rows = try context.rowSource.newestRows(of: references.map(objectID), in: store)
    return Dictionary(rows.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Errors

  func snapshot(_ row: RowImage?) -> RowSnapshot? { row.map { RowSnapshot($0, of: entity($0), space: space) } }

  /// Returns the row of an object with its unsaved changes, for an object that the save does not write.
  private func currentRow(_ reference: ObjectReference, over base: RowImage?) -> RowImage? {
    guard let base, let object = object(reference), object.overlay != nil else { return base }
    return object.presentRow(key: base.key, version: base.version) { context.registry.savedReference($0) }
  }

  /// Returns a store's error with the values of both sides.
  func described(_ error: StoreError) throws -> StoreError {
    var error = error
    for index in error.mergeConflicts.indices {
      let reference = error.mergeConflicts[index].objectID.reference
      let base = base(reference)
      let (stored, cached) = (error.mergeConflicts[index].persistedRow, error.mergeConflicts[index].cachedRow)
      error.mergeConflicts[index].originalSnapshot = snapshot(base)
      error.mergeConflicts[index].objectSnapshot = snapshot(updates[reference]?.row ?? currentRow(reference, over: base))
      // If the coordinator has an older cached row, report both rows; else the stored row is also the cached one.
      let isOlder = cached.map { $0.version != stored?.version } ?? false
      error.mergeConflicts[index].cachedSnapshot = snapshot(isOlder ? cached : stored)
      error.mergeConflicts[index].persistedSnapshot = isOlder ? snapshot(stored) : nil
      error.mergeConflicts[index].isDeletion = deletions[reference] != nil
    }
    let stored = try storedRows(Set(error.constraintConflicts.compactMap { $0.databaseObjectID?.reference }))
    for index in error.constraintConflicts.indices {
      let conflict = error.constraintConflicts[index]
      error.constraintConflicts[index].objectSnapshots = conflict.objectIDs.compactMap { snapshot(pendingRow($0.reference)) }
      error.constraintConflicts[index].databaseSnapshot = snapshot(conflict.databaseObjectID.flatMap { stored[$0.reference] })
    }
    return error
  }

  /// Resolves the conflicts of an error through the context's merge policy.
  ///
  /// - Throws: The error, if a conflict cannot be resolved or the policy does not resolve it; errors of custom merge rules.
  func resolve(_ error: StoreError) throws {
    let error = try described(error)
    do {
      for conflict in error.mergeConflicts { try resolve(conflict) }
      for conflict in error.constraintConflicts { try resolve(conflict) }
      try finishMerging()
    } catch let unresolved as Unresolved {
      var error = error
      if !error.mergeConflicts.isEmpty {
        error.reason = .leftInConflict(conflicting(error))
      }
      error.reason.problem += " " + (unresolved.reason ?? "The merge policy “\(context.mergePolicy)” does not resolve this.")
      if unresolved.reason == nil { error.reason.remedy = error.mergeConflicts.isEmpty ? .useOtherValues : .resolveConflicts }
      throw error
    }
  }

  /// Returns the number of objects in conflict by entity, in the order of the conflicts.
  private func conflicting(_ error: StoreError) -> [StoreError.Reason.ConflictingObjects] {
    var names: [String] = []
    var found: [String: (count: Int, example: ManagedObjectID)] = [:]
    for conflict in error.mergeConflicts {
      let name = conflict.objectID.entityName
      if found[name] == nil { names.append(name) }
      found[name, default: (0, conflict.objectID)].count += 1
    }
    return names.compactMap { name in
      found[name].map { StoreError.Reason.ConflictingObjects(entity: name, count: $0.count, example: $0.example) }
    }
  }

  /// A conflict that stays unresolved.
  struct Unresolved: Error {
    /// The reason why no policy can resolve it.
    var reason: String?
  }
}

extension StoreError.Reason {
  /// The objects of an entity that are still in conflict after the merge policy was applied.
  fileprivate struct ConflictingObjects {
    let entity: String
    let count: Int
    let example: ManagedObjectID
  }

  fileprivate static func leftInConflict(_ conflicts: [ConflictingObjects]) -> Self {
    let total = conflicts.reduce(0) { $0 + $1.count }
    let objects = conflicts.map { conflict in
      conflict.count == 1
        ? "the “\(conflict.entity)” \(conflict.example.uriString)"
        : "\(conflict.count) of “\(conflict.entity)”, such as \(conflict.example.uriString)"
    }
    return Self(
      .mergeConflict,
      "\(total == 1 ? "An object was" : "\(total) objects were") changed or deleted elsewhere since \(total == 1 ? "it was" : "they were") "
        + "read: \(objects.joined(separator: "; ")). Nothing was saved.",
      entity: conflicts.first?.entity, object: total == 1 ? conflicts.first?.example : nil)
  }
}

// MARK: - Objects of conflicts

extension MergeConflict {
  /// Returns the registered object in conflict; nil if the context has none.
  public func object(in context: ManagedObjectContext) -> ManagedObject? { context.registeredObject(for: objectID) }
}

extension ConstraintConflict {
  /// Returns the registered objects of the save.
  public func objects(in context: ManagedObjectContext) -> [ManagedObject] { objectIDs.compactMap(context.registeredObject(for:)) }
  /// Returns the stored object in conflict; nil if only objects of the save conflict.
  public func databaseObject(in context: ManagedObjectContext) -> ManagedObject? { databaseObjectID.map(context.object(with:)) }
}
