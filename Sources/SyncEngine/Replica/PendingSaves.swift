import Foundation
import ObjectModel
import ObjectStore
import SyncCore

/// The saves that the hub has not accepted yet, read from the store's history.
///
/// A save gets its stamp when a transaction of synchronization first reads it. Everything that was imported before the save was made has been
/// imported in an earlier transaction, so its stamp is the same as if it had been stamped at once; the save itself need not write anything.
final class PendingSaves {
  /// The saves in ascending order.
  private(set) var saves: [PendingSave] = []
  /// The join of the changes of each record.
  private var records: [RecordID: Record] = [:]
  /// The objects of the records.
  private var objects: [RecordID: ObjectReference] = [:]
  /// The records whose changes refer to a record.
  private var referrers: [RecordID: Set<RecordID>] = [:]
  /// The last transaction of the history that was read.
  private(set) var scanned: Int64

  init(after number: Int64) { scanned = number }

  /// Reads the transactions after the last one that was read.
  ///
  /// - Parameters:
  ///   - former: The records that objects had in earlier transactions.
  ///   - newest: The newest transaction.
  ///   - prepare: Returns the stamp of a save that was made at a time, in milliseconds since 1970. It may change the records of its objects.
  /// - Returns: Whether a transaction may have changed any object.
  func read(
    _ reader: HistoryChangeReader, _ former: FormerRecords, through newest: Int64,
    prepare: (_ number: Int64, _ wall: Int64, _ changes: inout [HistoryChangeReader.Change]) throws -> Stamp
  ) throws -> Bool {
    let isWhole = try reader.read(after: scanned, former) { number, wall, changes in
      var changes = changes
      let stamp = try prepare(number, wall, &changes)
      let save = PendingSave(number: number, stamp: stamp, changes: changes.map(\.change))
      for change in changes where !change.isFormer { objects[change.change.id] = change.object }
      saves.append(save)
      add(save)
    }
    scanned = newest
    return isWhole
  }

  /// Records that a record has no object anymore, because that has another record now.
  func removeObject(of id: RecordID) { objects[id] = nil }

  /// Removes the saves up to a number.
  func settle(through number: Int64) {
    guard let first = saves.first, first.number <= number else { return }
    saves.removeAll { $0.number <= number }
    rebuild()
  }

  /// Replaces the stamps of saves.
  func restamp(_ stamps: [Int64: Stamp]) {
    for index in saves.indices { if let stamp = stamps[saves[index].number] { saves[index].stamp = stamp } }
    rebuild()
  }

  func changes(of id: RecordID) -> Record? { records[id] }
  func object(of id: RecordID) -> ObjectReference? { objects[id] }
  func referrers(of id: RecordID) -> Set<RecordID> { referrers[id] ?? [] }

  /// Returns saves after a number, whole, as many as have a maximum number of changes; if the first has more, its first changes.
  func saves(after number: Int64, maximumChangeCount: Int) -> [PendingSave] {
    var (found, count): ([PendingSave], Int) = ([], 0)
    for save in saves where save.number > number {
      if found.isEmpty, save.changes.count > maximumChangeCount {
        return [
          PendingSave(
            number: save.number, stamp: save.stamp, changes: Array(save.changes.prefix(maximumChangeCount)), changeCount: save.changes.count
          )
        ]
      }
      if count + save.changes.count > maximumChangeCount { break }
      found.append(save)
      count += save.changes.count
    }
    return found
  }

  /// Returns changes of a save.
  ///
  /// - Parameter position: The number of changes to skip.
  func changes(of number: Int64, from position: Int, maximumCount: Int) -> [PendingChange] {
    guard let save = saves.first(where: { $0.number == number }) else { return [] }
    return Array(save.changes.dropFirst(position).prefix(maximumCount))
  }

  private func rebuild() {
    (records, referrers) = ([:], [:])
    if saves.isEmpty { objects = [:] }
    for save in saves { add(save) }
  }

  private func add(_ save: PendingSave) {
    for change in save.changes {
      records[change.id] = records[change.id].joined(with: change.record(save.stamp))
      for value in (change.values ?? [:]).values {
        if let destination = value.reference { referrers[destination, default: []].insert(change.id) }
      }
    }
  }
}
