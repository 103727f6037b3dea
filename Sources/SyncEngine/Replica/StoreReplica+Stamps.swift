import ObjectModel
import SQLCipherStore
package import SyncCore

/// The stamps of pending saves, which stay the same when the saves are read from the history again.
extension StoreReplica {
  /// Returns the stored stamps of saves after a number.
  func storedStamps(after number: Int64) throws -> [Int64: SaveStamps] {
    var stamps: [Int64: SaveStamps] = [:]
    try transactionTables.query(SyncStatement.stamps, .int(number)) { row in
      func stamp(_ column: Int) -> Stamp {
        Stamp(HybridTime(value: UInt64(bitPattern: row.int64(column))), DeviceID(UInt64(bitPattern: row.int64(column + 1))))
      }
      stamps[row.int64(0)] = SaveStamps(stamp(1), addition: stamp(3), first: HybridTime(value: UInt64(bitPattern: row.int64(5))))
    }
    return stamps
  }

  func setStamps(_ stamps: SaveStamps, of number: Int64) throws {
    func columns(_ stamp: Stamp) -> [Slot] { [.int(Int64(bitPattern: stamp.time.value)), .int(Int64(bitPattern: stamp.device.value))] }
    let (save, addition) = (columns(stamps.save), columns(stamps.addition))
    try transactionTables.execute(
      SyncStatement.setStamp, .int(number), save[0], save[1], addition[0], addition[1], .int(Int64(bitPattern: stamps.first.value)))
  }

  package func restamp(_ stamps: [Int64: Stamp], additions: (Stamp) -> Stamp) throws { try pending().restamp(stamps, additions: additions) }

  /// The device that identifies the links that new saves add, and what they add to counters.
  ///
  /// A copy of a store may stamp saves before it has its own identity. The additions of the original and of the copy are different ones, even
  /// if they have the same times.
  func additionDevice() throws -> DeviceID {
    var state = try knownState()
    if schema.links.isEmpty, schema.lists.isEmpty, !schema.syncModel.hasMergeRules, !schema.syncModel.hasDeletionMarks,
      !(state.zone.hasVersions ?? false)
    {
      return state.zone.device
    }
    if let device = state.copy { return device }
    if try lineage() == state.lineage { return state.zone.device }
    let device = DeviceID.random()
    state.copy = device
    try setReplicaState(state)
    return device
  }
}

extension DeviceID {
  /// Returns a new identity. Links have properties with the numbers of devices, and others with those that no device has.
  static func random() -> DeviceID { DeviceID(.random(in: 1...(.max - 16))) }
}
