import ObjectModel
import ObjectStore

extension SaveConflicts {
  /// Sets a slot of a row, whether or not the save already writes it. Ignores deleted rows.
  func set(_ value: Slot, at slot: Int, of reference: ObjectReference) throws {
    if let row = inserted[reference] { return insert(edited(row, [slot: value])) }
    guard deletions[reference] == nil else { return }
    if let update = updates[reference], let base = base(reference) {
      return self.update(edited(update.row, [slot: value]), over: base)
    }
    guard let row = try storedRows([reference])[reference] else { return }
    touched.insert(reference)
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
