/// Adds objects that were in a store before synchronization began to its zone.
package enum Baseline {
  /// Adds an object, with the stamp of the time at which synchronization began.
  ///
  /// The record must not have an entry. An object that a pending save has inserted must not be added: it would be sent without the rest of
  /// the save. An object that a save changes must be added before the save.
  ///
  /// - Parameter rules: The rules of the entity's attributes that are not merged by ``MergeRule/latest``.
  @discardableResult
  package static func add(
    _ object: SyncedObject, of id: RecordID, merging rules: [PropertyID: MergeRule] = [:], in store: some SyncStore
  ) throws -> RecordEntry {
    var entry = RecordEntry()
    // The oldest stamp: whatever another device writes is newer.
    let stamp = Stamp(HybridTime(value: 1), try store.zone().device)
    entry.held = Record(entity: object.entity, values(of: object, rules, stamp), stamp, rules: rules)
    if object.isLink {
      let addition = Field(.addition(by: Link.baseline.device), .integer(1), Link.baseline)
      entry.held = entry.held.joined(with: Record(entity: object.entity, .live([addition])))
    }
    try store.setEntry(entry, of: id)
    return entry
  }

  /// Returns the values, with counters in place of numbers, and versions of values: the same ones on devices that had copies of one store.
  private static func values(of object: SyncedObject, _ rules: [PropertyID: MergeRule], _ stamp: Stamp) -> [PropertyID: FieldValue] {
    var values = object.values
    for (property, rule) in rules {
      guard let value = values[property] else { continue }
      switch rule {
      case .counter: values[property] = Counter(baseline: value, at: stamp.time).fieldValue
      case .custom: values[property] = ValueVersions(baseline: value, at: stamp.time).fieldValue
      default: break
      }
    }
    return values
  }
}

extension SyncStore {
  /// Returns the state of a record with its pending changes. An object from before synchronization is added to the zone.
  ///
  /// - Parameters:
  ///   - settled: ``ZoneState/settledThrough``.
  ///   - object: Returns the object of the record.
  func state(of id: RecordID, _ model: SyncModel, after settled: Int64, object: () throws -> SyncedObject?) throws -> Record? {
    var entry = try entry(of: id)
    let pending = try pendingChanges(of: id, after: settled)
    if entry == nil, pending == nil, let object = try object() {
      entry = try Baseline.add(object, of: id, merging: model.merging(of: object.entity), in: self)
    }
    return (entry?.state).applying(pending)
  }
}
