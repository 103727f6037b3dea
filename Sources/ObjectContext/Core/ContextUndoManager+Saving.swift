// ContextUndoManager+Saving: what saves do to records: objects get other IDs, and what was only in a store is gone from there.
import ObjectModel
import ObjectStore

extension ContextUndoManager {
  /// Every group that a save may have to do with.
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

  /// The objects that went and that a save is about to delete: from here on nobody but the groups has what they were.
  func objectsToKeep() -> [(group: UndoGroup, objects: [ManagedObject])] {
    unsettledGroups.compactMap { group in
      let objects = group.objects.filter { $0.contextReference != nil && $0.flags.contains(.isDeleted) && !$0.flags.contains(.isInserted) }
      return objects.isEmpty ? nil : (group, objects)
    }
  }

  /// Reads the large values that a save is about to replace.
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
          countMore(size, in: outermost(group))
        } catch {
          drop(outermost(group), because: .unreadable)
          break
        }
      }
    }
    dropOldest()
  }

  /// Visits the records of members that came or went while the members were not read, and that no save has settled.
  ///
  /// - Parameter isVoid: Whether nothing was changed, for an object, a to-many index, and the member; asked for each.
  func updateUnread(_ isVoid: (UndoRecord) -> Bool) {
    for group in unsettledGroups {
      group.update { record in
        guard record.kind == .added || record.kind == .removed, record.marks.contains(.isUnread),
          record.marks.isDisjoint(with: [.isSaved, .isVoid]), isVoid(record)
        else { return }
        record.marks.insert(.isVoid)
      }
    }
  }

  /// The group of a stack, or the open one, that a group is in.
  func outermost(_ group: UndoGroup) -> UndoGroup {
    func contains(_ outer: UndoGroup) -> Bool { outer === group || outer.groups.contains(where: contains) }
    return (undoStack + redoStack + openGroups).first(where: contains) ?? group
  }

  /// Changes were saved: records name new objects by the IDs that these have got.
  ///
  /// - Parameters:
  ///   - model: The context's model.
  ///   - savedID: The ID of an object by its reference before the save, and the space of that.
  ///   - update: Puts the references of saved objects into an object that a group holds.
  func noteSaved(
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
  /// Whether its bytes are in memory.
  fileprivate var isInMemory: Bool { content is ExternalBytes }
}
