import ObjectModel
import ObjectStore

extension SaveConflicts {
  func resolve(_ conflict: MergeConflict) throws {
    let reference = conflict.objectID.reference
    let decision = try context.mergePolicy.decision(for: conflict, model.entities[reference.entity], in: model)
    let rules = decision.rules
    if rules.winner == .neither { throw Unresolved() }
    affectedObjects.insert(reference)
    if let update = updates[reference] {
      if let theirs = conflict.persistedRow {
        try merge(update.row, theirs, decision, conflict)
      } else if rules.keepsRow(deletedBy: .theirs) ?? false {
        try reinsert(update.row, decision)
      } else {
        try discard(reference)
      }
    } else if deletions[reference] != nil {
      guard let theirs = conflict.persistedRow else { return deletions[reference] = nil }
      if rules.keepsRow(deletedBy: .mine) ?? true { restore(theirs) } else { deletions[reference] = theirs.version }
    } else if let theirs = conflict.persistedRow {
      // The row was only locked, so there are no changes in memory.
      refresh(theirs)
      locked[reference] = theirs.version
    } else {
      locked[reference] = nil
      try discard(reference)
    }
  }

  // MARK: Changed on both sides

  private func merge(_ mine: RowImage, _ theirs: RowImage, _ decision: MergeDecision, _ conflict: MergeConflict) throws {
    let (reference, entity) = (mine.reference, entity(mine))
    let merge = ThreeWayMerge(
      base: base(reference), mine: mine, theirs: theirs, changed: setSlots[reference] ?? SlotMask(), of: entity)
    let values = try policyValues.slots(of: decision, entity, conflicts: merge.conflicts, SnapshotConflict(conflict))
    // The rows conflict by their versions.
    let row = merge.row(by: decision.rules, isRowConflict: true, setting: values, version: theirs.version + 1)
    try checkReferences(of: row)
    update(row, over: theirs)
    try pairUp(reference, formerly: [mine, theirs])
  }

  /// Throws if a row that was taken from the store refers to an object that this save deletes.
  private func checkReferences(of row: RowImage) throws {
    if deletions.isEmpty { return }
    for slot in entity(row).slots where slot.kind == .reference && deletions[row.reference(slot.index)] != nil {
      throw Unresolved(reason: "An object that this save deletes has been referred to by “\(entity(row).name).\(slot.name)” meanwhile.")
    }
  }

  // MARK: Deleted by others

  /// Accepts the deletion of an object by others.
  private func discard(_ reference: ObjectReference) throws {
    updates[reference] = nil
    deletedInStore.insert(reference)
    relationshipChanges.removeAll { $0.source == reference }
    relationshipChanges = relationshipChanges.map { $0.mapMembers { $0.filter { $0 != reference } } }
    for row in insertedOrder.compactMap({ inserted[$0] }) + updates.values.map(\.row) {
      for slot in entity(row).slots where slot.kind == .reference && row.reference(slot.index) == reference {
        if !slot.isOptional {
          throw Unresolved(reason: "“\(entity(row).name).\(slot.name)” is required and would lose the object that it refers to.")
        }
        try set(.null, at: slot.index, of: row.reference)
      }
    }
  }

  /// Inserts the row of an object that others have deleted.
  private func reinsert(_ mine: RowImage, _ decision: MergeDecision) throws {
    let (reference, entity) = (mine.reference, entity(mine))
    var values = try policyValues.slots(of: decision, entity)
    // The destinations of its references may be deleted as well.
    let destinations = entity.slots.filter { $0.kind == .reference && values[$0.index] == nil }.map { ($0, mine.reference($0.index)) }
    let unknown = Set(destinations.map(\.1).filter { !$0.isNull && inserted[$0] == nil && $0 != reference })
    let stored = try storedRows(unknown)
    for (slot, destination) in destinations where unknown.contains(destination) && stored[destination] == nil {
      if !slot.isOptional {
        throw Unresolved(reason: "“\(entity.name).\(slot.name)” is required, and the object that it refers to was deleted too.")
      }
      values[slot.index] = .null
    }
    // A version that no reader of the former row can have seen.
    insert(edited(mine, values, version: mine.version + 65_536))
    updates[reference] = nil
    try relink(reference)
    try pairUp(reference, formerly: [mine])
  }

  /// Restores the many-to-many links that were deleted with a row, as far as they are in memory and their other ends exist.
  private func relink(_ reference: ObjectReference) throws {
    guard let object = object(reference) else { return }
    for state in object.toManyStates where state.isLoaded && !state.relationship.isTransient {
      let relationship = state.relationship
      guard model.inverse(of: relationship)?.isToMany ?? true else { continue }
      let members = state.members.map { context.registry.savedReference($0) }
      let stored = try storedRows(members.filter { inserted[$0] == nil })
      let existing = members.filter { (inserted[$0] != nil || stored[$0] != nil) && deletions[$0] == nil }
      let (leading, isReversed) = model.leading(relationship)
      if isReversed {
        for member in existing { link(member, leading.id, [reference], order: nil) }
        if relationship.isOrdered { link(reference, relationship.id, [], order: existing) }
      } else {
        link(reference, relationship.id, existing, order: relationship.isOrdered ? existing : nil)
      }
    }
  }

  private func link(_ source: ObjectReference, _ relationship: Int, _ members: [ObjectReference], order: [ObjectReference]?) {
    let position = relationshipChanges.firstIndex { $0.source == source && $0.relationshipID == relationship }
    let known = position.map { relationshipChanges[$0] }
    let change = SaveChangesRequest.RelationshipChange(
      source: source, relationshipID: relationship, added: (known?.added ?? []).followed(by: members), removed: known?.removed ?? [],
      order: order ?? known?.order, previousOrder: order == nil ? known?.previousOrder : nil)
    if let position { relationshipChanges[position] = change } else { relationshipChanges.append(change) }
  }
}

// MARK: - Restoring deleted rows

extension SaveConflicts {
  /// Cancels a deletion because others have changed the object, together with its effects: cascaded deletions, and cleared references to
  /// the object.
  func restore(_ row: RowImage) {
    var waiting = [row]
    while let row = waiting.popLast() {
      deletions[row.reference] = nil
      restored.insert(row.reference)
      affectedObjects.insert(row.reference)
      refresh(row)
      bases[row.reference] = row
      waiting += cascadedRows(of: row)
      restoreReferences(to: row)
    }
  }

  /// Returns the deleted objects that a cascading deletion of a row has reached, as far as the rows show.
  private func cascadedRows(of row: RowImage) -> [RowImage] {
    let (reference, entity) = (row.reference, entity(row))
    var result: [RowImage] = []
    for relationship in entity.relationships where relationship.deleteEffect == .deletesMembers {
      if !relationship.isToMany {
        let destination = row.reference(relationship.index)
        if deletions[destination] != nil, let candidateRow = base(destination) { result.append(candidateRow) }
      } else if let inverse = model.inverse(of: relationship), !inverse.isToMany {
        for candidate in deletions.keys where model.entities[relationship.destinationEntity].subtree.contains(candidate.entity) {
          if let candidateRow = base(candidate), candidateRow.reference(inverse.index) == reference { result.append(candidateRow) }
        }
      }
    }
    return result
  }

  /// Restores the references to a row that its deletion has cleared.
  private func restoreReferences(to row: RowImage) {
    let (reference, entity) = (row.reference, entity(row))
    for relationship in entity.relationships {
      guard let inverse = model.inverse(of: relationship) else { continue }
      if inverse.isToMany {
        relationshipChanges = relationshipChanges.map { change in
          guard change.relationshipID == inverse.id || change.relationshipID == relationship.id else { return change }
          return SaveChangesRequest.RelationshipChange(
            source: change.source, relationshipID: change.relationshipID, added: change.added,
            removed: change.removed.filter { $0 != reference }, order: change.order, previousOrder: change.previousOrder)
        }
        continue
      }
      for (source, update) in updates where model.entities[inverse.sourceEntity].subtree.contains(source.entity) {
        guard update.changedSlots.contains(inverse.index), update.row.isNull(inverse.index), let base = base(source),
          base.reference(inverse.index) == reference
        else { continue }
        self.update(edited(update.row, [inverse.index: .int(reference.rawValue)]), over: base)
        affectedObjects.insert(source)
      }
    }
  }
}

// MARK: - Resolving relationships

extension SaveConflicts {
  /// Sets a slot of a row, whether or not the save already writes it. Ignores deleted rows.
  func set(_ value: Slot, at slot: Int, of reference: ObjectReference) throws {
    if let row = inserted[reference] { return insert(edited(row, [slot: value])) }
    guard deletions[reference] == nil else { return }
    if let update = updates[reference], let base = base(reference) {
      return self.update(edited(update.row, [slot: value]), over: base)
    }
    guard let row = try storedRows([reference])[reference] else { return }
    affectedObjects.insert(reference)
    update(edited(row, [slot: value], version: row.version + 1), over: row)
  }

  private func finalRow(_ reference: ObjectReference) throws -> RowImage? {
    try pendingRow(reference) ?? refreshed[reference] ?? storedRows([reference])[reference]
  }

  /// Updates the inverse ends of one-to-one relationships after a row was merged: former partners no longer refer to it, and its new
  /// partner does.
  ///
  /// - Parameter rows: The rows that were merged.
  func pairUp(_ reference: ObjectReference, formerly rows: [RowImage]) throws {
    for slot in model.entities[reference.entity].slots {
      guard let relationship = slot.relationship, let inverse = model.inverse(of: relationship), !inverse.isToMany,
        let row = try finalRow(reference)
      else { continue }
      let partner = row.reference(slot.index)
      var others = Set(rows.map { $0.reference(slot.index) })
      for candidate in insertedOrder.compactMap({ inserted[$0] }) + updates.values.map(\.row)
      where model.entities[inverse.sourceEntity].subtree.contains(candidate.entityNumber) && candidate.reference(inverse.index) == reference
      {
        others.insert(candidate.reference)
      }
      for other in others where !other.isNull && other != partner {
        if try finalRow(other)?.reference(inverse.index) == reference { try set(.null, at: inverse.index, of: other) }
      }
      if !partner.isNull, let partnerRow = try finalRow(partner), partnerRow.reference(inverse.index) != reference {
        let displaced = partnerRow.reference(inverse.index)
        try set(.int(reference.rawValue), at: inverse.index, of: partner)
        if !displaced.isNull, displaced != reference, try finalRow(displaced)?.reference(slot.index) == partner {
          try set(.null, at: slot.index, of: displaced)
        }
      }
    }
  }
}
