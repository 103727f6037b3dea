import ObjectModel
import ObjectStore

extension ContextUndoManager {
  /// The groups that a save may have to update.
  private var unsettledGroups: [UndoGroup] {
    var groups: [UndoGroup] = []
    func visit(_ group: UndoGroup) {
      for inner in group.groups { visit(inner) }
      if !group.isSettled { groups.append(group) }
    }
    for group in undoStack + redoStack + openGroups { visit(group) }
    if let applied { visit(applied) }
    return groups
  }

  /// Returns the deleted objects that a save is about to remove from the store. After the save, only the undo groups have their values.
  func objectsToKeep() -> [(group: UndoGroup, objects: [ManagedObject])] {
    unsettledGroups.compactMap { group in
      let objects = group.objects.filter { $0.contextReference != nil && $0.flags.contains(.isDeleted) && !$0.flags.contains(.isInserted) }
      return objects.isEmpty ? nil : (group, objects)
    }
  }

  /// Loads the large values that a save is about to replace.
  func readExternals() {
    for group in unsettledGroups {
      for (number, external) in group.externals.enumerated() where !external.isInMemory {
        do {
          let size = try external.count
          if size > undoByteLimit {
            drop(outermost(group), because: .largerThanLimit)
            break
          }
          group.replaceExternal(number, with: ExternalData(try external.data()))
          addBytes(size, in: outermost(group))
        } catch {
          drop(outermost(group), because: .unreadable)
          break
        }
      }
    }
    dropOldest()
  }

  /// Marks records of members added or removed while the members were not loaded as ineffective if they turn out to have changed nothing.
  /// Records of saved changes are skipped.
  ///
  /// - Parameter isIneffective: Returns whether a record changed nothing; called for each such record.
  func updateUnread(_ isIneffective: (UndoRecord) -> Bool) {
    for group in unsettledGroups {
      group.update { record in
        guard record.kind == .added || record.kind == .removed, record.marks.contains(.isUnread),
          record.marks.isDisjoint(with: [.isSaved, .isIneffective]), isIneffective(record)
        else { return }
        record.marks.insert(.isIneffective)
      }
    }
  }

  /// Returns the outermost group that contains a group: a group of a stack, or an open one.
  func outermost(_ group: UndoGroup) -> UndoGroup {
    func contains(_ outer: UndoGroup) -> Bool { outer === group || outer.groups.contains(where: contains) }
    return (undoStack + redoStack + openGroups).first(where: contains) ?? group
  }

  /// Updates the records after a save: new objects are identified by their permanent IDs.
  ///
  /// - Parameters:
  ///   - model: The context's model.
  ///   - savedID: Returns the reference and space of an object after the save, for those before it.
  ///   - update: Replaces the references in an object that a group retains.
  func recordSaved(
    _ model: CompiledModel, savedID: (ObjectReference, UInt32) -> (reference: ObjectReference, space: UInt32),
    update: (ManagedObject) -> Void
  ) {
    for group in unsettledGroups {
      var isSettled = true
      func saved(_ reference: ObjectReference) -> ObjectReference {
        guard reference.key < 0 else { return reference }
        let saved = savedID(reference, 0).reference
        if saved.key < 0 { isSettled = false }
        return saved
      }
      group.update { record in
        if record.reference.key < 0 {
          let known = savedID(record.reference, record.space)
          (record.reference, record.space) = known
          if known.reference.key < 0 { isSettled = false }
        }
        switch record.kind {
        case .added, .removed:
          record.marks.insert(.isSaved)
          if record.member.key < 0 { record.former = .int(saved(record.member).rawValue) }
        case .value:
          record.marks.remove(.wasClean)
          guard record.member.key < 0, model.entities[record.reference.entity].kinds[Int(record.property)] == .reference else { return }
          record.former = .int(saved(record.member).rawValue)
        case .external, .order, .inserted, .deleted, .action, .group: return
        }
      }
      group.updateOrders(saved)
      for object in group.objects { update(object) }
      group.isSettled = isSettled
    }
  }
}

extension ExternalData {
  fileprivate var isInMemory: Bool { content is ExternalBytes }
}

// MARK: - Keeping undo state across a save

extension ManagedObjectContext {
  /// Loads everything that undo needs and that the save would remove from the store.
  ///
  /// Objects that the save deletes get all their values, and the members that are known only to rows of the store. Large values that the
  /// save may replace are read. If this fails for an undo group, the group is discarded and the save continues.
  func keepUndoState(deleting deleted: [ManagedObject]) {
    guard let undo = recorder else { return }
    undo.readExternals()
    readUnreadMembers(undo)
    if deleted.isEmpty { return }
    for (group, objects) in undo.objectsToKeep() {
      do {
        try readCompletely(objects)
        var bytes = try keepPositions(of: objects, in: group)
        for object in objects { bytes += try object.detachForUndo() }
        undo.addBytes(bytes, in: undo.outermost(group))
      } catch {
        undo.drop(undo.outermost(group), because: .unreadable)
      }
    }
    undo.dropOldest()
  }

  /// Records the positions of objects in ordered relationships of other objects whose members are not loaded.
  ///
  /// - Returns: The memory used, in bytes.
  private func keepPositions(of objects: [ManagedObject], in group: UndoGroup) throws -> Int {
    var owners: [Int: Set<ManagedObjectID>] = [:]
    for object in objects {
      func addOwner(_ owner: ObjectReference, _ inverse: CompiledRelationship) {
        guard owner.key > 0 else { return }
        // Loaded members were already updated by the deletion.
        if let known = registeredObject(owner, space: object.ownSpace),
          known.flags.contains(.isDeleted) || known.toManyStates[inverse.index] != nil
        {
          return
        }
        owners[inverse.id, default: []].insert(
          ManagedObjectID(space: object.ownSpace, entityNumber: UInt32(owner.entity), key: owner.key))
      }
      let entity = object.compiledEntity
      for slot in entity.referenceSlots {
        if let relationship = entity.slots[slot].relationship, let inverse = model.inverse(of: relationship), inverse.isOrdered {
          addOwner(object.referenceValue(slot), inverse)
        }
      }
      for relationship in entity.toManyRelationships {
        guard let inverse = model.inverse(of: relationship), inverse.isToMany, inverse.isOrdered,
          let state = object.toManyStates[relationship.index], state.isLoaded
        else { continue }
        for owner in state.members { addOwner(owner, inverse) }
      }
    }
    var bytes = 0
    for (number, ids) in owners {
      for ids in Dictionary(grouping: ids, by: \.space).values {
        let store = try rowSource.openStore(of: ids[0], .save)
        let values = try rowSource.members(of: model.relationships[number], for: ids, in: store, isInterruptible: false)
        var start = 0
        for (position, id) in ids.enumerated() {
          let members = Array(values.references[start..<values.ends[position]])
          start = values.ends[position]
          group.keep(UndoGroup.KeptOrder(owner: id, index: model.relationships[number].index, members: members))
          bytes += 64 + members.count * MemoryLayout<ObjectReference>.stride
        }
      }
    }
    return bytes
  }

  /// Loads the members of many-to-many relationships that were changed without loading them. Only before the save can it be determined
  /// whether a recorded change had an effect.
  private func readUnreadMembers(_ undo: ContextUndoManager) {
    var unread: [Int: Set<ManagedObject>] = [:]
    undo.updateUnread { record in
      guard let object = registeredObject(record), let state = object.toManyStates[Int(record.property)], !state.isLoaded,
        !object.flags.contains(.isInserted), object.currentID.key > 0, model.inverse(of: state.relationship)?.isToMany ?? true
      else { return false }
      unread[state.relationship.id, default: []].insert(object)
      return false
    }
    for (number, objects) in unread {
      for objects in Dictionary(grouping: objects, by: \.ownSpace).values {
        do {
          let store = try rowSource.openStore(of: objects[0].currentID, .save)
          try readMembers(of: objects, model.relationships[number], from: store, isInterruptible: false)
        } catch {
          // If the store cannot be read, the save reports the error.
          return
        }
      }
    }
    undo.updateUnread { record in
      guard let state = registeredObject(record)?.toManyStates[Int(record.property)], state.isLoaded else { return false }
      return state.isIneffective(isAddition: record.kind == .added, of: registry.savedReference(record.member), record.marks)
    }
  }

  private func registeredObject(_ record: UndoRecord) -> ManagedObject? {
    record.reference.key < 0 ? temporaryObject(record.reference) : registeredObject(record.reference, space: record.space)
  }

  /// Updates the undo groups after a save with the permanent IDs of objects.
  ///
  /// - Parameter savedReference: Maps a reference from before the save to the saved one.
  func recordSavedForUndo(_ savedReference: (ObjectReference) -> ObjectReference) {
    recorder?.recordSaved(model) { reference, space in
      (savedReference(reference), registry.permanentID(reference)?.space ?? space)
    } update: { object in
      object.replaceReferences(savedReference)
    }
  }

  /// Reads the rows of faults, and the members of relationships whose inverse is not updated by a deletion, with one or two statements per
  /// entity and relationship.
  private func readCompletely(_ objects: [ManagedObject]) throws {
    for objects in Dictionary(grouping: objects, by: \.ownSpace).values {
      let store = try rowSource.openStore(of: objects[0].currentID, .save)
      let faults = objects.filter { $0.flags.contains(.isFault) && $0.row == nil }
      if !faults.isEmpty {
        for row in try rowSource.rows(of: faults.map(\.currentID), in: store, isInterruptible: false) {
          registeredObject(row.reference, space: store.space.number)?.image = row
        }
      }
      for object in objects where object.row != nil { object.fireFault(trigger: nil) }
      for objects in Dictionary(grouping: objects, by: \.entityNumber).values {
        for relationship in objects[0].compiledEntity.toManyRelationships where !relationship.isTransient {
          if let inverse = model.inverse(of: relationship), !inverse.isToMany, relationship.deleteEffect.leavesNoReferences { continue }
          let unread = objects.filter { $0.row != nil && !$0.state(relationship.index).isLoaded }
          if !unread.isEmpty { try readMembers(of: unread, relationship, from: store, isInterruptible: false) }
        }
      }
    }
  }
}

extension ManagedObject {
  /// Makes the object independent of the store and of the other rows in its chunk.
  ///
  /// - Returns: The memory used, in bytes.
  /// - Throws: ``StoreError`` if a large value cannot be read.
  fileprivate final func detachForUndo() throws -> Int {
    guard let image, !flags.contains(.isFault) else { return 0 }
    let entity = compiledEntity
    var bytes = 112 + image.size
    let copy = image.edited(of: entity)
    var large: [(slot: Int, value: ExternalData)] = []
    for slot in entity.largeSlots {
      if let overlay, overlay.has(slot) {
        if let external = overlay.external(slot) { large.append((slot, external)) }
      } else if let external = image.external(slot) {
        large.append((slot, external))
      }
    }
    for (slot, value) in large {
      let data = try value.data()
      bytes += data.count
      overlayForWriting(of: entity).keep(.bytes(data), at: slot)
    }
    self.image = copy
    updateDirectRow()
    for state in toManyStates where state.isLoaded { bytes += 96 + state.count * MemoryLayout<ObjectReference>.stride }
    return bytes
  }
}
