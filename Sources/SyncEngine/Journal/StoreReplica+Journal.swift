package import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
package import SyncCore

extension StoreReplica {
  package func addToJournal(_ entry: JournalEntry) throws {
    let bytes = Data(JournalCoding.encode(entry))
    try transactionTables.execute(
      SyncStatement.addJournalEntry, .int(try lastRemovedJournalEntry()), entry.id.slot, .int(wall()),
      .bytes(Data(ContentDigest.sha256(bytes).prefix(16))), .bytes(bytes))
  }

  /// The name under which the number of the last entry is stored before entries are removed, so that their numbers are not used again.
  private static let lastEntry = "journal"

  private func lastRemovedJournalEntry() throws -> Int64 {
    try storedValue(Self.lastEntry).map { try JSONDecoder().decode(Int64.self, from: $0) } ?? 0
  }

  /// Returns the values that have lost, the oldest first, without those of entities that the model lacks. Waits for no other process.
  ///
  /// - Parameters:
  ///   - number: The number of an entry; nil for all entries.
  ///   - includesRestored: Whether to return values that were restored too.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store is not synchronized.
  package func journal(_ number: Int64? = nil, includesRestored: Bool = false) throws -> [JournalItem] {
    try snapshot {
      let names = try authorNames()
      return try storedJournal(number, includesRestored: includesRestored).compactMap { try item($0, names) }
    }
  }

  /// An entry in the store.
  struct StoredJournalEntry {
    let number: Int64
    let date: Date
    let restored: UUID?
    let entry: JournalEntry
  }

  /// Reads the journal.
  func storedJournal(_ number: Int64? = nil, includesRestored: Bool = false) throws -> [StoredJournalEntry] {
    var rows: [StoredJournalEntry] = []
    try transactionTables.query(SyncStatement.journal, number.map { .int($0) } ?? .null, .int(includesRestored ? 1 : 0)) { row in
      // Entries of a later version that this one cannot read are left out.
      guard let entry = try? JournalCoding.decode(row.bytes(3)) else { return }
      rows.append(
        StoredJournalEntry(
          number: row.int64(0), date: Date(timeIntervalSince1970: Double(row.int64(1)) / 1_000),
          restored: row.isNull(2) ? nil : RecordID(bytes: row.bytes(2)).uuid, entry: entry))
    }
    return rows
  }

  /// Returns the names of the devices that can have written values.
  func authorNames() throws -> [DeviceID: String] {
    var names = try deviceNames()
    let device = try knownState().zone.device
    if try storedValue(AccountState.name) != nil { names[device] = try accountState().deviceName }
    return names
  }

  /// Returns an entry in terms of the model; nil if the model does not have the entity.
  func item(_ row: StoredJournalEntry, _ names: [DeviceID: String]) throws -> JournalItem? {
    guard let entity = schema.number(of: row.entry.losing.entity) else { return nil }
    func author(_ record: Record) -> JournalItem.Author? {
      record.latestStamp.map { JournalItem.Author(deviceName: names[$0.device], date: $0.time.date) }
    }
    let compiled = schema.model.entities[entity]
    let none = RecordedValues([:], of: compiled)
    return JournalItem(
      number: row.number, date: row.date, reason: row.entry.reason, entityName: compiled.name,
      objectID: try self.row(of: row.entry.id)?.object.map(store.space.objectID), stableID: row.entry.id.uuid,
      propertyNames: row.entry.losing.fields.compactMap { propertyName($0.property, ofEntity: entity) }.sorted(),
      values: try values(of: row.entry.losing, entity),
      largePropertyNames: Set(
        row.entry.losing.fields.compactMap { $0.value.isAsset ? propertyName($0.property, ofEntity: entity) : nil }),
      author: author(row.entry.losing) ?? .init(deviceName: nil, date: nil),
      winningValues: try row.entry.winning.map { try values(of: $0, entity) } ?? none, winner: row.entry.winning.flatMap(author),
      object: try row.entry.object.map { try values(of: $0, entity) }, restoredID: row.restored)
  }

  /// Returns the name of a property.
  func propertyName(_ id: PropertyID, ofEntity number: Int) -> String? {
    schema.entities[number].property(id).map { schema.model.entities[number].slots[$0.slot].name }
  }

  /// Returns the object that has got the values of a deleted object again; nil if it was not restored.
  func restoredObject(of object: ManagedObjectID) throws -> ManagedObjectID? {
    guard let id = try history.stableIDs(of: [object.reference])[0] else { return nil }
    var restored: UUID?
    try snapshot {
      try transactionTables.query(SyncStatement.restored, RecordID(id).slot) { restored = RecordID(bytes: $0.bytes(0)).uuid }
    }
    return try restored.flatMap { try history.reference(forStableID: $0) }.map(store.space.objectID)
  }

  /// Returns the last entry with all values of a deleted object, which was not restored.
  func journalEntry(ofDeletedObject object: ManagedObjectID) throws -> Int64? {
    guard let id = try history.stableIDs(of: [object.reference])[0] else { return nil }
    var found: Int64?
    try snapshot {
      try transactionTables.query(SyncStatement.journalOfRecord, RecordID(id).slot) { row in
        if (try? JournalCoding.decode(row.bytes(1)))?.object != nil { found = row.int64(0) }
      }
    }
    return found
  }

  /// Records that the values of an entry were restored.
  ///
  /// - Parameter object: The object that has got them.
  func setRestored(_ number: Int64, in object: ObjectReference) throws {
    try transaction {
      guard let id = try history.stableIDs(of: [object])[0] else { return }
      try transactionTables.execute(SyncStatement.setRestored, .int(number), RecordID(id).slot)
    }
  }

  /// Removes the entries that were noticed before a date.
  ///
  /// - Returns: How many there were.
  package func removeJournalEntries(before date: Date) throws -> Int {
    try transaction {
      let last = max(try lastRemovedJournalEntry(), Int64(try count(SyncStatement.lastJournalEntry)))
      try store(try JSONEncoder().encode(last), as: Self.lastEntry)
      return try transactionTables.execute(SyncStatement.removeJournal, .int(date.millisecondsSince1970))
    }
  }
}

extension FieldValue {
  fileprivate var isAsset: Bool { if case .asset = self { true } else { false } }
}
