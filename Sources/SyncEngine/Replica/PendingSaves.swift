import Foundation
import ObjectModel
import ObjectStore
import SyncCore

/// The saves that the hub has not accepted yet, read from the store's history.
///
/// A save gets its stamp when a transaction of synchronization first reads it. Everything that was imported before the save was made has been
/// imported in an earlier transaction, so its stamp is the same as if it had been stamped at once; the save itself need not write anything.
///
/// The changes are encoded, because a device can be offline for months.
final class PendingSaves {
  private struct Save {
    let number: Int64
    var stamp: Stamp
    /// The positions of its changes.
    var changes: Range<Int>
  }

  /// What the saves have changed of a record.
  private struct Entry {
    /// Its object; null if it is not known here.
    var object = ObjectReference(rawValue: 0)
    /// The position of the last change; negative if all were settled.
    var position = -1
  }

  /// The object of a record that a save has inserted.
  typealias Insertion = (id: RecordID, object: ObjectReference)

  /// The saves in ascending order.
  private var saves: [Save] = []
  private var packed = PackedChanges()
  private var entries: [RecordID: Entry] = [:]
  /// The positions of further changes of a record, before the last one.
  private var earlier: [RecordID: [Int]] = [:]
  /// The records whose changes refer to a record.
  private var referrers: [RecordID: Set<RecordID>] = [:]
  /// The last transaction of the history that was read.
  private(set) var scanned: Int64

  init(after number: Int64) { scanned = number }

  var isEmpty: Bool { saves.isEmpty }

  // MARK: Reading

  /// Reads the transactions after the last one that was read.
  ///
  /// - Parameters:
  ///   - former: The records that objects had in earlier transactions.
  ///   - newest: The newest transaction.
  ///   - prepare: Returns the stamp of a save that was made at a time, in milliseconds since 1970. It may call ``renew(_:)``.
  /// - Returns: Whether a transaction may have changed any object.
  func read(
    _ reader: HistoryChangeReader, _ former: FormerRecords, through newest: Int64,
    prepare: (_ number: Int64, _ wall: Int64, _ insertions: [Insertion]) throws -> Stamp
  ) throws -> Bool {
    var insertions: [Insertion] = []
    let isWhole = try reader.read(after: scanned, former) { change in
      if change.isInsertion { insertions.append((change.change.id, change.object)) }
      try add(change.change, change.isFormer ? nil : change.object)
    } end: { number, wall in
      defer { insertions = [] }
      if packed.end == start { return }
      let stamp = try prepare(number, wall, insertions)
      saves.append(Save(number: number, stamp: stamp, changes: start..<packed.end))
    }
    scanned = newest
    return isWhole
  }

  /// The position of the first change of the save that is being read.
  private var start: Int { saves.last?.changes.upperBound ?? firstStart }
  private var firstStart = 0

  /// Adds a change to the save that is being read. Of each record it has one: the later values replace the earlier ones.
  private func add(_ change: PendingChange, _ object: ObjectReference?) throws {
    var entry = entries[change.id] ?? Entry()
    if let object { entry.object = object }
    if entry.position >= start {
      let known = try packed[entry.position]
      let values = change.values.map { (known.values ?? [:]).merging($0) { _, later in later } }
      packed.replace(entry.position, by: PendingChange(known.id, entity: known.entity, values))
    } else {
      if entry.position >= 0 { earlier[change.id, default: []].append(entry.position) }
      entry.position = packed.end
      packed.append(change)
    }
    entries[change.id] = entry
    for value in (change.values ?? [:]).values {
      if let destination = value.reference { referrers[destination, default: []].insert(change.id) }
    }
  }

  /// Returns the change of a record by the save that is being read.
  func currentChange(of id: RecordID) throws -> PendingChange? {
    guard let position = entries[id]?.position, position >= start else { return nil }
    return try packed[position]
  }

  /// Gives other records to objects that the save that is being read has inserted.
  func renew(_ renewed: [RecordID: RecordID]) throws {
    let present = try (start..<packed.end).map { try packed[$0] }
    packed.removeAll(from: start)
    for change in present { removeLastPosition(of: change.id) }
    for change in present {
      let values = change.values?.mapValues { value in value.reference.flatMap { renewed[$0] }.map(FieldValue.reference) ?? value }
      let id = renewed[change.id] ?? change.id
      let object = id == change.id ? nil : entries[change.id]?.object
      if id != change.id { entries[change.id]?.object = ObjectReference(rawValue: 0) }
      try add(PendingChange(id, entity: change.entity, values), object)
    }
  }

  private func removeLastPosition(of id: RecordID) {
    entries[id]?.position = earlier[id]?.popLast() ?? -1
    if earlier[id]?.isEmpty ?? false { earlier[id] = nil }
  }

  // MARK: Settling

  /// Removes the saves up to a number.
  func settle(through number: Int64) throws {
    let count = position(after: number)
    if count == 0 { return }
    let settled = saves[..<count]
    firstStart = settled.last?.changes.upperBound ?? firstStart
    saves.removeFirst(count)
    if saves.isEmpty {
      // The objects too: those of settled records are in the store.
      (entries, earlier, referrers) = ([:], [:], [:])
    } else {
      for save in settled { for position in save.changes { removePosition(of: try packed[position], before: firstStart) } }
    }
    packed.removeAll(before: firstStart)
  }

  /// Removes the positions of a record's changes that were settled.
  private func removePosition(of change: PendingChange, before position: Int) {
    let id = change.id
    earlier[id]?.removeAll { $0 < position }
    if earlier[id]?.isEmpty ?? false { earlier[id] = nil }
    guard let last = entries[id]?.position, last < position else { return }
    entries[id]?.position = -1
    for value in (change.values ?? [:]).values {
      guard let destination = value.reference else { continue }
      referrers[destination]?.remove(id)
      if referrers[destination]?.isEmpty ?? false { referrers[destination] = nil }
    }
  }

  /// Replaces the stamps of saves.
  func restamp(_ stamps: [Int64: Stamp]) {
    for index in saves.indices { if let stamp = stamps[saves[index].number] { saves[index].stamp = stamp } }
  }

  // MARK: Records

  /// The records that the saves change.
  var changedRecords: some Sequence<RecordID> { entries.lazy.filter { $0.value.position >= 0 }.map(\.key) }

  /// Returns the join of the changes of a record.
  func changes(of id: RecordID) throws -> Record? {
    guard let last = entries[id]?.position, last >= 0 else { return nil }
    var record: Record?
    // Without the save that is being read, which has no stamp yet.
    for position in (earlier[id] ?? []) + [last] where position < start {
      let save = saves[saves.partitioningIndex { $0.changes.upperBound > position }]
      record = record.joined(with: try packed.record(at: position, save.stamp).record)
    }
    return record
  }

  func object(of id: RecordID) -> ObjectReference? { entries[id].flatMap { $0.object.isNull ? nil : $0.object } }

  /// Returns the records whose changes refer to a record, and perhaps others.
  func referrers(of id: RecordID) -> Set<RecordID> { referrers[id] ?? [] }

  // MARK: Saves

  /// The number of saves up to a number.
  private func position(after number: Int64) -> Int { saves.partitioningIndex { $0.number > number } }

  /// Returns saves after a number, whole, as many as have a maximum number of changes; if the first has more, its first changes.
  func saves(after number: Int64, maximumChangeCount: Int) throws -> [PendingSave] {
    var (found, count): ([PendingSave], Int) = ([], 0)
    for save in saves[position(after: number)...] {
      if !found.isEmpty, count + save.changes.count > maximumChangeCount { break }
      let changes = try save.changes.prefix(maximumChangeCount).map { try packed[$0] }
      found.append(PendingSave(number: save.number, stamp: save.stamp, changes: changes, changeCount: save.changes.count))
      count += save.changes.count
      if count >= maximumChangeCount { break }
    }
    return found
  }

  /// Returns changes of a save.
  ///
  /// - Parameter position: The number of changes to skip.
  func changes(of number: Int64, from position: Int, maximumCount: Int) throws -> [PendingChange] {
    guard let save = saves[self.position(after: number - 1)...].first, save.number == number else { return [] }
    return try save.changes.dropFirst(position).prefix(maximumCount).map { try packed[$0] }
  }
}
