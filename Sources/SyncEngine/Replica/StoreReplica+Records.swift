import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
package import SyncCore

/// The records that a transaction has read or written.
struct RecordCache {
  /// A record in the store: the object that it had last, and its entry.
  struct Row {
    var object: ObjectReference?
    var entry: RecordEntry
  }

  private static let limit = 10_000
  private var rows: [RecordID: Row?] = [:]

  subscript(id: RecordID) -> Row?? {
    get { rows[id] }
    set {
      if rows.count >= Self.limit { rows.removeAll(keepingCapacity: true) }
      rows[id] = newValue
    }
  }
}

extension StoreReplica {
  func row(of id: RecordID) throws -> RecordCache.Row? {
    if let known = running.entries[id] { return known }
    var found: RecordCache.Row?
    try transactionTables.query(SyncStatement.record, id.slot) { row in
      let entry = try RecordEntryCoding.decode(row.bytes(2))
      let object = row.isNull(1) ? nil : schema.object(entity: row.int64(0), key: row.int64(1))
      found = RecordCache.Row(object: object, entry: entry)
    }
    running.entries[id] = .some(found)
    return found
  }

  package func entry(of id: RecordID) throws -> RecordEntry? { try row(of: id)?.entry }

  package func setEntry(_ entry: RecordEntry, of id: RecordID) throws {
    let known = try row(of: id)
    try setRow(RecordCache.Row(object: try known?.object ?? pending().object(of: id), entry: entry), of: id)
    if !schema.links.isEmpty, entry.state?.isDeleted ?? false, let former = known?.entry.state, let link = Link(former, schema.syncModel) {
      running.formerLinks[id] = link
    }
    if entry.state?.isDeleted ?? false, !(known?.entry.state?.isDeleted ?? false) { try removePositions(of: id) }
    let (former, present) = (known?.entry.references ?? [], entry.references)
    if former == present { return }
    for reference in former.subtracting(present) { try change(reference, of: id, SyncStatement.removeReference) }
    for reference in present.subtracting(former) { try change(reference, of: id, SyncStatement.addReference) }
  }

  private func change(_ reference: RecordReference, of id: RecordID, _ sql: String) throws {
    try transactionTables.execute(
      sql, reference.destination.slot, .int(Int64(bitPattern: reference.property.value)), id.slot)
  }

  func setRow(_ row: RecordCache.Row, of id: RecordID) throws {
    let isNew = try self.row(of: id) == nil
    try transactionTables.execute(
      isNew ? SyncStatement.newRecord : SyncStatement.setRecord, id.slot, row.object.map { schema.column(ofEntity: $0.entity) } ?? .null,
      row.object.map { .int($0.key) } ?? .null,
      .int(row.entry.isUnsent ? 1 : 0), .bytes(Data(RecordEntryCoding.encode(row.entry, of: id))))
    running.entries[id] = .some(row)
  }

  /// Sets the object of a record that is in the store.
  func setObject(_ object: ObjectReference, of id: RecordID) throws {
    guard var row = try row(of: id) else { return }
    row.object = object
    try transactionTables.execute(
      SyncStatement.setObject, schema.column(ofEntity: object.entity), .int(object.key), id.slot)
    running.entries[id] = .some(row)
  }

  package func records(after id: RecordID?, maximumCount: Int) throws -> [RecordID] {
    try ids(SyncStatement.recordsAfter, after: id, maximumCount)
  }

  package func baseVersions(after id: RecordID?, maximumCount: Int) throws -> [BaseVersion] {
    var found: [BaseVersion] = []
    try transactionTables.query(SyncStatement.entriesAfter, id?.slot ?? .bytes(Data()), .int(Int64(maximumCount))) { row in
      found.append(try RecordEntryCoding.baseVersion(row.bytes(1), of: RecordID(bytes: row.bytes(0))))
    }
    return found
  }

  package func unsentRecords(after id: RecordID?, maximumCount: Int) throws -> [RecordID] {
    try ids(SyncStatement.unsentAfter, after: id, maximumCount)
  }

  /// The number of unsent records.
  func unsentCount() throws -> Int { try count(SyncStatement.unsentCount) }

  /// Returns the number that a statement counts.
  func count(_ sql: String) throws -> Int {
    var count = 0
    try transactionTables.query(sql) { count = Int($0.int64(0)) }
    return count
  }

  private func ids(_ sql: String, after id: RecordID?, _ count: Int) throws -> [RecordID] {
    var found: [RecordID] = []
    try transactionTables.query(sql, id?.slot ?? .bytes(Data()), .int(Int64(count))) { found.append(RecordID(bytes: $0.bytes(0))) }
    return found
  }

  package func referrers(of id: RecordID) throws -> [RecordID] {
    var found = try pending().referrers(of: id)
    try transactionTables.query(SyncStatement.referrers, id.slot) { found.insert(RecordID(bytes: $0.bytes(0))) }
    return Array(found)
  }

  package func referrers(of id: RecordID, through property: PropertyID) throws -> [RecordID] {
    let pending = try pending()
    var found = try pending.referrers(of: id).filter { try pending.changes(of: $0)?[property] != nil }
    try transactionTables.query(SyncStatement.referrersThrough, id.slot, .int(Int64(bitPattern: property.value))) {
      found.insert(RecordID(bytes: $0.bytes(0)))
    }
    return Array(found)
  }

  // MARK: Outbox

  package func outbox() throws -> FrozenCommit? {
    var found: FrozenCommit?
    try transactionTables.query(SyncStatement.outbox) { row in
      let next = row.isNull(1) ? nil : try JSONDecoder().decode(FrozenCommit.NextPart.self, from: Data(row.bytes(1)))
      found = FrozenCommit(try CommitCoding.decode(row.bytes(2)), through: row.int64(0), next: next)
    }
    running.outbox = found?.commit.digest
    return found
  }

  package func setOutbox(_ commit: FrozenCommit?) throws {
    try transactionTables.execute(SyncStatement.removeOutbox)
    running.outbox = commit?.commit.digest
    guard let commit else { return }
    try lineageStore?.advanceLineageMark()
    let next = try commit.next.map { Slot.bytes(try JSONEncoder().encode($0)) } ?? .null
    try transactionTables.execute(SyncStatement.setOutbox, .int(commit.through), next, .bytes(Data(CommitCoding.encode(commit.commit))))
  }
}

/// A record that another one refers to, and by which property.
private struct RecordReference: Hashable {
  let property: PropertyID
  let destination: RecordID
}

extension RecordEntry {
  /// The records that the states refer to.
  fileprivate var references: Set<RecordReference> {
    var references: Set<RecordReference> = []
    for field in (base?.record.fields ?? []) + (held?.fields ?? []) {
      guard let destination = field.value.reference else { continue }
      references.insert(RecordReference(property: field.property, destination: destination))
    }
    return references
  }
}
