import ObjectModel
import ObjectStore

extension SaveConflicts {
  /// Cancels a deletion because others have changed the object, together with its effects: cascaded deletions, and cleared references to
  /// the object.
  func restore(_ row: RowImage) {
    var waiting = [row]
    while let row = waiting.popLast() {
      setDeletion(row.reference, version: nil)
      restored.insert(row.reference)
      touched.insert(row.reference)
      refresh(row)
      setBase(row)
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
            removed: change.removed.filter { $0 != reference }, order: change.order)
        }
        continue
      }
      for (source, update) in updates where model.entities[inverse.sourceEntity].subtree.contains(source.entity) {
        guard update.changedSlots.contains(inverse.index), update.row.isNull(inverse.index), let base = base(source),
          base.reference(inverse.index) == reference
        else { continue }
        self.update(edited(update.row, [inverse.index: .int(reference.rawValue)]), over: base)
        touched.insert(source)
      }
    }
  }
}
