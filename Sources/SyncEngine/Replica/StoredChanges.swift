import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore

/// Pending changes in a table of the store, of which there can be any number.
///
/// Everything in it follows from the history. A replica that finds the rows of another replica discards them and reads the history again: the
/// state of the store shows which replica has filled the table (``ReplicaState/storedChanges``).
final class StoredChanges: PendingChanges {
  private unowned let replica: StoreReplica
  private let number: UInt64
  private(set) var end: Int
  /// The number of records that are read at once.
  private static let batch = 500

  /// Begins to fill the table.
  ///
  /// - Parameter start: The position of the first change.
  init(_ replica: StoreReplica, from start: Int) throws {
    (self.replica, end) = (replica, start)
    try replica.removeStoredChanges()
    number = .random(in: 1 ... .max)
    var state = try replica.knownState()
    state.storedChanges = number
    try replica.setReplicaState(state)
  }

  /// Whether another replica has removed the changes, perhaps to add its own.
  var isReplaced: Bool { get throws { try replica.knownState().storedChanges != number } }

  var countInMemory: Int { 0 }
  var byteCountInMemory: Int { 0 }

  func add(_ change: PendingChange, _ object: ObjectReference?, start: Int) throws {
    let tables = try replica.transactionTables
    let object = object.map { Slot.int($0.rawValue) } ?? .null
    let bytes = Slot.bytes(Data(PendingChangeCoding.encode(change)))
    if try tables.execute(SyncStatement.addPending, .int(Int64(end)), .int(Int64(start)), change.id.slot, object, bytes) > 0 {
      try addReferences(change, at: end)
      end += 1
      return
    }
    // The save has changed the record before.
    guard let (position, bytes) = try changes(of: change.id).last else { return }
    let joined = try PendingChangeCoding.decode(bytes).followed(by: change)
    try tables.execute(SyncStatement.setPending, .int(Int64(position)), object, .bytes(Data(PendingChangeCoding.encode(joined))))
    try addReferences(change, at: position)
  }

  private func addReferences(_ change: PendingChange, at position: Int) throws {
    for destination in change.destinations {
      try replica.transactionTables.execute(SyncStatement.addPendingReference, .int(Int64(position)), destination.slot)
    }
  }

  func replace(_ position: Int, by change: PendingChange) throws {
    let tables = try replica.transactionTables
    if let former = try changes(in: position..<position + 1).first?.id, former != change.id {
      let object = try object(of: former)
      try tables.execute(SyncStatement.removePendingObject, former.slot)
      try tables.execute(SyncStatement.renewPending, .int(Int64(position)), change.id.slot, object.map { .int($0.rawValue) } ?? .null)
    }
    try tables.execute(SyncStatement.setPending, .int(Int64(position)), .null, .bytes(Data(PendingChangeCoding.encode(change))))
    try addReferences(change, at: position)
  }

  func removeAll(before position: Int) throws {
    for sql in SyncStatement.removePending { try replica.transactionTables.execute(sql, .int(Int64(position))) }
  }

  func changes(in positions: Range<Int>) throws -> [PendingChange] {
    var found: [PendingChange] = []
    try replica.transactionTables.query(SyncStatement.pending, .int(Int64(positions.lowerBound)), .int(Int64(positions.upperBound))) {
      found.append(try PendingChangeCoding.decode($0.bytes(0)))
    }
    return found
  }

  func changes(of id: RecordID) throws -> [(position: Int, bytes: [UInt8])] {
    var found: [(position: Int, bytes: [UInt8])] = []
    try replica.transactionTables.query(SyncStatement.pendingOfRecord, id.slot) { found.append((Int($0.int64(0)), $0.bytes(1))) }
    return found
  }

  func object(of id: RecordID) throws -> ObjectReference? {
    var found: ObjectReference?
    try replica.transactionTables.query(SyncStatement.pendingObject, id.slot) { found = ObjectReference(rawValue: $0.int64(0)) }
    return found
  }

  func referrers(of id: RecordID) throws -> Set<RecordID> {
    var found: Set<RecordID> = []
    try replica.transactionTables.query(SyncStatement.pendingReferrers, id.slot) { found.insert(RecordID(bytes: $0.bytes(0))) }
    return found
  }

  func forEachRecord(_ body: (RecordID) throws -> Void) throws {
    var last: RecordID?
    while true {
      var found: [RecordID] = []
      try replica.transactionTables.query(SyncStatement.pendingRecordsAfter, last?.slot ?? .bytes(Data()), .int(Int64(Self.batch))) {
        found.append(RecordID(bytes: $0.bytes(0)))
      }
      guard let final = found.last else { return }
      for id in found { try body(id) }
      last = final
    }
  }
}

extension StoreReplica {
  /// Empties the table of pending changes, if it was filled.
  func removeStoredChanges() throws {
    var state = try knownState()
    guard state.storedChanges != nil else { return }
    for sql in SyncStatement.emptyPending { try transactionTables.execute(sql) }
    state.storedChanges = nil
    try setReplicaState(state)
  }
}
