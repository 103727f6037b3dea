import ObjectModel
import ObjectStore

extension SaveConflicts {
  func resolve(_ conflict: ConstraintConflict) throws {
    guard let entity = model.entity(named: conflict.entityName) else { throw Unresolved() }
    let decision = try context.mergePolicy.decision(for: conflict, entity, in: model)
    if decision.rules.winner == .neither { throw Unresolved() }
    if let database = conflict.databaseSnapshot { storedHolders[database.objectID.reference] = database.row }
    var parties: [ObjectReference] = []
    for objectID in conflict.objectIDs {
      let reference = survivor(of: objectID.reference)
      if pendingRow(reference) != nil, !parties.contains(reference) { parties.append(reference) }
    }
    parties = inSavingOrder(parties)
    // A stored object survives a new one. Among new objects, the first survives.
    guard let survivor = conflict.databaseObjectID?.reference ?? parties.first else { return }
    for party in parties where party != survivor {
      if inserted[party] != nil {
        try merge(new: party, into: survivor, decision, conflict)
      } else {
        try discardValues(of: party, conflict, decision)
      }
    }
  }

  /// Returns the object into which a new one was merged, or the object itself.
  func survivor(of reference: ObjectReference) -> ObjectReference {
    var reference = reference
    while let next = merged[reference] { reference = next }
    return reference
  }

  // MARK: Merging a new object

  private func merge(
    new: ObjectReference, into survivor: ObjectReference, _ decision: MergeDecision, _ conflict: ConstraintConflict
  ) throws {
    guard let mine = inserted[new], let theirs = pendingRow(survivor) ?? storedHolders[survivor] else { throw Unresolved() }
    let (entity, own) = (entity(theirs), self.entity(mine))
    let isFitting = entity.isKind(of: own)
    if decision.rules.winner == .mine, !isFitting {
      throw Unresolved(reason: "An object of the entity “\(own.name)” cannot be merged into one of the entity “\(entity.name)”.")
    }
    // Only values that were set count. Defaults would overwrite stored values.
    let set = isFitting ? object(new)?.overlay?.dirty ?? SlotMask() : SlotMask()
    let merge = ThreeWayMerge(base: nil, mine: mine, theirs: theirs, changed: set, of: own)
    let slots = merge.slotsOfMine(by: decision.rules, isRowConflict: true)
    var states: SnapshotConflict?
    if let object = snapshot(mine), let store = snapshot(theirs) {
      states = SnapshotConflict(objectID: objectID(survivor), original: nil, object: object, store: store)
    }
    let values = try policyValues.slots(of: decision, entity, conflicts: merge.conflicts, states)
    func row(version: Int64) -> RowImage { theirs.edited(values, taking: slots, from: mine, of: entity, version: version) }
    inserted[new] = nil
    merged[new] = survivor
    affectedObjects.insert(survivor)
    formerRows[survivor, default: []] += [mine, theirs]
    if inserted[survivor] != nil {
      insert(row(version: theirs.version))
    } else if let base = updates[survivor] == nil ? storedHolders[survivor] : base(survivor) {
      for slots in [slots, SlotMask(slots: values.keys)] { setSlots[survivor, default: SlotMask()].formUnion(slots) }
      update(row(version: base.version + 1), over: base)
    }
  }

  /// Resolves a conflict of two stored objects: the changed one gets its former values back, or the save fails. Never deletes a row that
  /// the application has not deleted.
  private func discardValues(of reference: ObjectReference, _ conflict: ConstraintConflict, _ decision: MergeDecision) throws {
    guard let update = updates[reference], let base = base(reference) else { throw Unresolved() }
    let slots = conflict.constraint.compactMap { entity(update.row).slot(named: $0)?.index }
    // The merge of another object may have resolved the conflict.
    guard slots.contains(where: update.changedSlots.contains) else { return }
    affectedObjects.insert(reference)
    guard decision.rules.winner == .theirs else {
      throw Unresolved(
        reason: "Two stored objects cannot both have the values, and neither is deleted for the other; change or delete one of them.")
    }
    switch decision.rules.unit {
    case .row: refresh(base)
    case .property: self.update(update.row.edited(taking: SlotMask(slots: slots), from: base, of: entity(base)), over: base)
    }
    try pairUp(reference, formerly: [update.row, base])
  }

  // MARK: References to merged objects

  /// Redirects all references to merged objects to their survivors.
  func finishMerging() throws {
    guard merged.contains(where: { inserted[$0.key] == nil && !finishedMerges.contains($0.key) }) else { return }
    for row in insertedOrder.compactMap({ inserted[$0] }) {
      let values = redirected(row)
      if !values.isEmpty { insert(edited(row, try accepted(values, entity(row)))) }
    }
    for (reference, update) in updates {
      let values = redirected(update.row)
      if !values.isEmpty, let base = base(reference) {
        self.update(edited(update.row, try accepted(values, entity(update.row))), over: base)
      }
    }
    try moveMembers()
    finishedMerges.formUnion(merged.keys)
    for (survivor, rows) in formerRows {
      try pairUp(survivor, formerly: rows)
      // An unchanged stored object that keeps its values shows its stored row.
      if pendingRow(survivor) == nil, let row = storedHolders[survivor] { refresh(row) }
    }
    formerRows = [:]
  }

  private func redirected(_ row: RowImage) -> [Int: Slot] {
    var values: [Int: Slot] = [:]
    for slot in entity(row).slots where slot.kind == .reference && merged[row.reference(slot.index)] != nil {
      values[slot.index] = .int(survivor(of: row.reference(slot.index)).rawValue)
    }
    return values
  }

  /// Returns the values if the relationships accept the survivors' entities; throws otherwise.
  private func accepted(_ values: [Int: Slot], _ entity: CompiledEntity) throws -> [Int: Slot] {
    for (slot, value) in values {
      guard case .int(let word) = value, let relationship = entity.slots[slot].relationship,
        !model.entities[relationship.destinationEntity].subtree.contains(ObjectReference(rawValue: word).entity)
      else { continue }
      throw Unresolved(reason: "“\(entity.name).\(relationship.name)” cannot refer to the stored object, which is of another entity.")
    }
    return values
  }

  /// Moves to-many relationships of merged objects to the survivors, and merges their members.
  private func moveMembers() throws {
    var result: [SaveChangesRequest.RelationshipChange] = []
    var positions: [RelationshipEnd: Int] = [:]
    for change in relationshipChanges {
      let source = survivor(of: change.source)
      let own = change.mapMembers { list in
        var known: Set<ObjectReference> = []
        return list.map(self.survivor(of:)).filter { known.insert($0).inserted }
      }
      var difference = MemberDifference(added: own.added, removed: own.removed)
      var (order, previousOrder) = (own.order, own.previousOrder)
      let end = RelationshipEnd(source: source, relationship: change.relationshipID)
      if let position = positions[end] {
        let other = result[position]
        let former = MemberDifference(added: other.added, removed: other.removed)
        difference = ThreeWayMerge.members(mine: difference, theirs: former)
        if let first = other.order { (order, previousOrder) = (first.followed(by: order ?? []), other.previousOrder) }
      } else if source != change.source, inserted[source] == nil, let mine = order {
        let stored = try storedMembers(of: source, change.relationshipID)
        previousOrder = stored
        order = MemberDifference(removed: difference.removed).applied(to: stored).followed(by: mine)
      }
      let moved = SaveChangesRequest.RelationshipChange(
        source: source, relationshipID: change.relationshipID, added: difference.added, removed: difference.removed, order: order,
        previousOrder: previousOrder)
      if let position = positions[end] {
        result[position] = moved
      } else {
        positions[end] = result.count
        result.append(moved)
      }
    }
    relationshipChanges = result
  }

  private func storedMembers(of source: ObjectReference, _ relationship: Int) throws -> [ObjectReference] {
    Array(try context.rowSource.newestMembers(of: model.relationships[relationship], for: [objectID(source)], in: store)[0])
  }
}

struct RelationshipEnd: Hashable {
  let source: ObjectReference
  let relationship: Int
}
