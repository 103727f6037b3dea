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

  /// Marks records of members added or removed while the members were not loaded as void if they turn out to have changed nothing. Records
  /// of saved changes are skipped.
  ///
  /// - Parameter isVoid: Returns whether a record changed nothing; called for each such record.
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
