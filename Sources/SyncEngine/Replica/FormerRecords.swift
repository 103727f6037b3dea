import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
package import SyncCore

/// The records that objects had before they were inserted again.
///
/// Deletions are final: what an application inserts again after it deleted it, such as by undoing the deletion, gets a new record. Transactions
/// from before that change the former record.
struct FormerRecords {
  private var records: [(object: ObjectReference, before: Int64, id: RecordID)] = []

  /// Adds the record that an object had in the transactions before one. Must be called in the order of the transactions.
  mutating func add(_ id: RecordID, of object: ObjectReference, before number: Int64) { records.append((object, number, id)) }

  /// Returns the former records of objects in a transaction.
  func records(in number: Int64) -> [ObjectReference: RecordID] {
    if records.isEmpty { return [:] }
    return Dictionary(records.lazy.filter { number < $0.before }.map { ($0.object, $0.id) }) { first, _ in first }
  }
}

extension StoreReplica {
  /// Returns the former records of objects in the pending saves.
  func formerRecords() throws -> FormerRecords {
    var former = FormerRecords()
    try transactionTables.query(SyncStatement.formerRecords) { row in
      guard let object = schema.object(entity: row.int64(1), key: row.int64(2)) else { return }
      former.add(RecordID(bytes: row.bytes(0)), of: object, before: row.int64(3))
    }
    return former
  }

  package func renewRecords(_ ids: [RecordID]) throws -> [RecordID: RecordID] {
    var renewed: [RecordID: RecordID] = [:]
    for id in ids {
      let new = try newStableID(inPlaceOf: id, insertedBy: pending().firstSave(of: id))
      renewed[id] = RecordID(new)
      try transactionTables.execute(SyncStatement.renewFormerRecord, RecordID(new).slot, id.slot)
      try renewPositions(of: id, as: RecordID(new))
      guard let object = try pending().object(of: id) else { continue }
      try history.setStableIDs([(object, new)])
      if var row = try row(of: id), row.object == object {
        row.object = nil
        try setRow(row, of: id)
      }
    }
    // The saves that are read again have the new records.
    pendingSaves = nil
    try readPendingSaves()
    return renewed
  }

  /// Gives new records to objects that a save has inserted although their records are deleted, or are those of other objects: a store that
  /// was replaced by an older copy of itself gives IDs that lost objects have.
  func renewRecords(_ insertions: RecordSet, in save: (number: Int64, wall: Int64), _ pending: PendingSaves) throws {
    var renewed: [RecordID: RecordID] = [:]
    for id in insertions {
      guard let object = try pending.object(of: id) else { continue }
      let row = try row(of: id)
      let state = (row?.entry.state).applying(try pending.changes(of: id))
      // An orphan is about to be deleted.
      let isTaken = row?.object.map { $0 != object } ?? false
      guard row?.entry.isOrphan ?? false || state?.isTombstone ?? false || isTaken, try pending.currentChange(of: id)?.values != nil else {
        continue
      }
      let new = try newStableID(inPlaceOf: id, insertedBy: save)
      renewed[id] = RecordID(new)
      try history.setStableIDs([(object, new)])
      if isTaken { continue }
      try transactionTables.execute(
        SyncStatement.addFormerRecord, id.slot, schema.column(ofEntity: object.entity), .int(object.key), .int(save.number))
      if var row, row.object != nil {
        row.object = nil
        try setRow(row, of: id)
      }
    }
    if !renewed.isEmpty { try pending.renew(renewed) }
  }

  /// Returns a new stable ID of an object.
  ///
  /// It follows from the former record and the save: an older copy of the store that contains the same save gives the same ID to the object,
  /// which therefore stays one.
  private func newStableID(inPlaceOf id: RecordID, insertedBy save: (number: Int64, wall: Int64)?) throws -> UUID {
    guard let save else { return UUID() }
    let new = UUID.digest(of: "CipherData record in place of \(id.uuid) by \(save.number) of \(save.wall)")
    // The copy can be of a state after the first time, in which another object has the ID.
    let isFree = try row(of: RecordID(new))?.object == nil && history.reference(forStableID: new) == nil
    return isFree ? new : UUID()
  }
}
