import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Clears the unsaved links to an object whose row is deleted and whose changes are discarded: no save inserts the row again.
  func clearLinks(toMissing object: ManagedObject) {
    clearUnsavedLinks(to: [object.currentID], in: object.currentID.space)
    for state in object.toManyStates { state.discardChanges() }
  }

  /// Clears unsaved links to rows that were deleted elsewhere, as the delete rule `nullify` does for stored links.
  ///
  /// The change set of a deletion contains stored links only. The deleted objects leave the context with their ends of the links, which a
  /// save checks. The ends that remain here would be stored unchecked.
  func clearUnsavedLinks(to deleted: [ManagedObjectID], in space: UInt32) {
    if deleted.isEmpty || unitOfWork.inserted.isEmpty && unitOfWork.updated.isEmpty { return }
    let roots = model.entities.map(\.root)
    func rooted(_ reference: ObjectReference) -> ObjectReference {
      // A reference may use the number of a superentity.
      ObjectReference(entity: roots[reference.entity], key: reference.key)
    }
    let deletedReferences = Set(deleted.lazy.map { rooted($0.reference) })
    for object in unitOfWork.inserted + unitOfWork.updated {
      guard !object.flags.isDisjoint(with: [.isInserted, .isUpdated]), !object.flags.contains(.isDeleted), self.space(of: object) == space
      else { continue }
      object.forEachUnsavedReference { slot, reference in
        if reference.key > 0, deletedReferences.contains(rooted(reference)) { object.setSlotValue(.null, at: slot) }
      }
      for state in object.toManyStates where !state.added.isEmpty {
        for reference in state.added.elements where reference.key > 0 && deletedReferences.contains(rooted(reference)) {
          if state.undoAddition(of: reference, []) { object.recordChange() }
        }
      }
    }
  }
}
