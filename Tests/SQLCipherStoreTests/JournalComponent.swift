import Foundation
import ObjectModel
import ObjectStore
import Synchronization

@testable import SQLCipherStore

/// A component with side tables: it counts the objects of each entity, and lists the latest changes.
final class JournalComponent: SideTableOwner {
  struct Rejection: Error {}

  let sideTables: SideTables
  /// Whether the component consumes changes.
  let isActive = Mutex(true)
  /// Whether the component rejects requests at their end.
  let rejects = Mutex(false)
  let origins = Mutex<[HistoryKind]>([])

  init(isRequired: Bool = false, format: Int = 1) {
    sideTables = SideTables(
      name: "journal", format: format, isRequiredByWriters: isRequired,
      tables: [
        SideTables.Table(
          "cipherdata_journal", "(number INTEGER PRIMARY KEY, entity TEXT NOT NULL, key INTEGER NOT NULL, kind TEXT NOT NULL)",
          indexes: ["(entity, key)"]),
        SideTables.Table("cipherdata_journal_counts", "(entity TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID"),
      ])
  }

  func makeConsumer(
    _ origin: TransactionOrigin, model: CompiledModel, in transaction: StoreTransaction
  ) throws -> (any SideTableConsumer)? {
    guard isActive.withLock({ $0 }) else { return nil }
    origins.withLock { $0.append(origin.kind) }
    return Consumer(self, model, transaction)
  }

  private final class Consumer: SideTableConsumer {
    let component: JournalComponent
    let needs: ChangeNeeds
    let transaction: StoreTransaction
    var counts: [String: Int64] = [:]

    init(_ component: JournalComponent, _ model: CompiledModel, _ transaction: StoreTransaction) {
      (self.component, self.transaction) = (component, transaction)
      var all = ChangeNeeds.OfEntity()
      all.isIncluded = true
      needs = ChangeNeeds(
        entities: model.entities.map { _ in all }, relationships: model.relationships.map { _ in false })
    }

    func receive(_ change: RowChange) throws {
      let (row, kind, count): (ChangedRow, String, Int64)
      switch change {
      case .insert(let inserted): (row, kind, count) = (inserted, "insert", 1)
      case .update(let updated): (row, kind, count) = (updated, "update", 0)
      case .delete(let deleted): (row, kind, count) = (deleted, "delete", -1)
      case .links, .order: return
      case .schema(let change):
        try transaction.execute(
          "INSERT INTO cipherdata_journal (entity, key, kind) VALUES (?, 0, ?)",
          .text([change.entityName, change.propertyName].compactMap { $0 }.joined(separator: ".")), .text("\(change.kind)"))
        return
      case .unspecified:
        try transaction.execute("INSERT INTO cipherdata_journal (entity, key, kind) VALUES ('', 0, 'unspecified')")
        return
      }
      counts[row.entityName, default: 0] += count
      try transaction.execute(
        "INSERT INTO cipherdata_journal (entity, key, kind) VALUES (?, ?, ?)", .text(row.entityName), .int(row.reference.key), .text(kind))
    }

    func finish() throws {
      for (entity, count) in counts.sorted(by: { $0.key < $1.key }) {
        try transaction.execute("INSERT OR IGNORE INTO cipherdata_journal_counts VALUES (?, 0)", .text(entity))
        try transaction.execute("UPDATE cipherdata_journal_counts SET count = count + ? WHERE entity = ?", .int(count), .text(entity))
      }
      if component.rejects.withLock({ $0 }) { throw Rejection() }
    }
  }
}

extension SideTableAccess {
  /// The number of objects of each entity that the journal has counted.
  func counts() throws -> [String: Int] {
    try read { transaction in
      var counts: [String: Int] = [:]
      try transaction.query("SELECT entity, count FROM cipherdata_journal_counts") { counts[$0.text(0)] = Int($0.int64(1)) }
      return counts.filter { $0.value != 0 }
    }
  }

  /// The kinds of all changes with what they concern, in order.
  func changes() throws -> [String] {
    try read { transaction in
      var changes: [String] = []
      try transaction.query("SELECT kind, entity FROM cipherdata_journal ORDER BY number") {
        changes.append($0.text(1).isEmpty ? $0.text(0) : "\($0.text(0)) \($0.text(1))")
      }
      return changes
    }
  }

  /// The kinds of all changes, in order.
  func kinds() throws -> [String] {
    try read { transaction in
      var kinds: [String] = []
      try transaction.query("SELECT kind FROM cipherdata_journal ORDER BY number") { kinds.append($0.text(0)) }
      return kinds
    }
  }
}
