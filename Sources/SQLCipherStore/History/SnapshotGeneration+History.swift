import ObjectStore
import SQLCipherConnection

extension SnapshotGeneration: HistoryGeneration {
  func historyPosition() throws -> HistoryPosition? {
    try read { transaction in
      guard try MetadataTable.hasHistory(transaction.connection) else { return nil }
      let statement = try transaction.connection.statement(.newestTransaction)
      defer { statement.reset() }
      return try statement.step() ? HistoryPosition(number: statement.int64(0), mark: statement.int64(1)) : nil
    }
  }
}
