/// Adds objects that were in a store before synchronization began to its zone.
package enum Baseline {
  /// Adds an object, with the stamp of the time at which synchronization began.
  ///
  /// The record must not have an entry. An object that a pending save has inserted must not be added: it would be sent without the rest of
  /// the save. An object that a save changes must be added before the save.
  @discardableResult
  package static func add(_ object: SyncedObject, of id: RecordID, in store: some SyncStore) throws -> RecordEntry {
    var entry = RecordEntry()
    // The oldest stamp: whatever another device writes is newer.
    let stamp = Stamp(HybridTime(value: 1), try store.zone().device)
    entry.held = Record(entity: object.entity, object.values, stamp)
    if object.isLink {
      let addition = Field(.addition(by: Link.baseline.device), .integer(1), Link.baseline)
      entry.held = entry.held.joined(with: Record(entity: object.entity, .live([addition])))
    }
    try store.setEntry(entry, of: id)
    return entry
  }
}
