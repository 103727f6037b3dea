/// What happens after a device's store was copied, or replaced by an older copy of itself.
///
/// Two states of the store then continue the same numbers. Their commits have the same numbers, by which the device notices a replacement
/// that its store did not notice: the hub has a commit that the store has not sent. Until then, a new object can get the ID of an object that
/// was lost with the replaced state, but is in the zone. Two such objects stay two: the new one gets another record.
extension SyncClient {
  /// Returns whether a commit of the device's identity was sent by another state of its store.
  func isFork(_ entry: CommitEntry, _ zone: ZoneState, _ outbox: SealedCommit?) -> Bool {
    if entry.device != zone.device { return false }
    if entry.deviceSequence > zone.deviceSequence { return true }
    return entry.deviceSequence == outbox?.deviceSequence && entry.digest != outbox?.digest
  }

  /// Gives the device a new identity, because another state of its store may use the former one.
  ///
  /// The pending saves get its stamps: a copy may have stamped other saves with the same times. Saves that were sent under the former
  /// identity are sent again; joining them twice changes nothing. Nothing is sent before a pull has brought what the zone has of them:
  /// their stamps must stay in order with those that it has.
  ///
  /// - Parameter isForked: Whether pending saves may have been made after the store was replaced.
  func changeIdentity(isForked: Bool, in store: some SyncStore, _ environment: Environment) throws {
    var zone = try store.zone()
    zone.formerDevices = (zone.formerDevices ?? []) + [zone.device]
    if let digest = try store.outbox()?.commit.digest { zone.formerCommits = ((zone.formerCommits ?? []) + [digest]).suffix(8) }
    zone.device = environment.newDevice
    zone.deviceSequence = 0
    zone.isJoined = false
    try store.setOutbox(nil)  // The former identity has sent it.
    if isForked { zone.forkedThrough = .max }
    try store.setZone(zone)
    try restampSaves(in: store, after: zone.settledThrough) { Stamp($0.stamp.time, zone.device) }
  }

  /// Returns the records that other objects have than those that pending saves have inserted.
  ///
  /// If the store was replaced without noticing it, both can have the same record. A record that has no value of the pending saves, with the
  /// time of the save, is of another object. The devices of the stamps do not matter: a state of the store that was lost can have sent the
  /// saves under an identity that this one does not know. The record can also be of the same object, sent by the former state of the store
  /// and then changed completely by other devices: that object gets two records, because nothing is lost by it.
  ///
  /// - Parameter records: Records that have arrived for the first time, although pending saves have changed them.
  func collisions(among records: RecordSet, _ staging: ZoneState.Staging, in store: some SyncStore) throws -> [RecordID] {
    let zone = try store.zone()
    guard !records.isEmpty, let forkedThrough = zone.forkedThrough else { return [] }
    var settledThrough = zone.settledThrough
    if let frozen = try store.outbox(), frozen.commit.digest == staging.listedOutbox { settledThrough = frozen.through }
    var insertions: [RecordID: Int64] = [:]
    // The saves have got stamps of another identity, with the same times.
    let identities = [zone.device] + (zone.formerDevices ?? [])
    var times: [RecordID: Set<HybridTime>] = [:]
    var written: [RecordID: Set<WrittenValue>] = [:]
    try forEachChange(after: zone.settledThrough, in: store) { save, change in
      // The same link, added elsewhere, has the same record.
      guard records.contains(change.id), !change.isLink else { return }
      if insertions[change.id] == nil { insertions[change.id] = save.number }
      times[change.id, default: []].insert(save.stamp.time)
      for (property, value) in change.values ?? [:] where value != .null {
        written[change.id, default: []].insert(WrittenValue(property: property, value: value, time: save.stamp.time))
      }
    }
    return try records.filter { id in
      guard let insertion = insertions[id], insertion > settledThrough, insertion <= forkedThrough,
        let base = try store.entry(of: id)?.base?.record
      else { return false }
      let isKnown = base.stamps.contains { identities.contains($0.device) && times[id]?.contains($0.time) ?? false }
      return !isKnown
        && !base.fields.contains { field in
          written[id]?.contains(WrittenValue(property: field.property, value: field.value, time: field.stamp.time)) ?? false
        }
    }
  }

  /// A value that a pending save has written.
  private struct WrittenValue: Hashable {
    let property: PropertyID
    let value: FieldValue
    let time: HybridTime
  }

  /// Returns the number of the last pending save.
  func lastSave(in store: some SyncStore) throws -> Int64 {
    var last = try store.zone().settledThrough
    try forEachChange(after: last, in: store) { save, _ in last = save.number }
    return last
  }

  /// Gives new records to objects that pending saves have inserted.
  ///
  /// - Returns: The records whose objects may change.
  func renewRecords(_ records: [RecordID], in store: some SyncStore) throws -> [RecordID] {
    if records.isEmpty { return [] }
    try store.setOutbox(nil)  // The hub does not accept it: the records exist.
    let renewed = try store.renewRecords(records)
    return try renewed.sorted { $0.key < $1.key }.flatMap { former, new in
      try [former, new] + store.referrers(of: former) + store.referrers(of: new)
    }
  }
}
