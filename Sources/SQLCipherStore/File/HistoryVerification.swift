import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Checks the history of a store's file.
enum HistoryVerification {
  /// No more records are named than this.
  private static let limit = 20

  /// What is wrong with the history; nothing where the store keeps none.
  static func run(_ connection: Connection, path: String) throws -> [StoreFinding] {
    try connection.readTransaction {
      guard try MetadataTable.hasHistory(connection) else { return [] }
      let ids = HistoryIDs(try MetadataTable.readLayout(connection, path: path), of: try StoredSchema.read(connection, path: path).model)
      let statement = try connection.statement(.records)
      defer { statement.reset() }
      var bad: [Int64] = []
      var (last, start): (Int64, Int64?) = (0, nil)
      while try statement.step() {
        let number = statement.int64(0)
        // The rows of a transaction follow each other; the oldest may have lost its first ones.
        let isInOrder = statement.isNull(1) || last == 0 || statement.int64(1) == start
        start = statement.isNull(1) ? number : statement.int64(1)
        last = number
        guard isInOrder, HistoryKind(rawValue: statement.int(2)) != nil, isReadable(Array(statement.data(3)), number, ids) else {
          bad.append(number)
          continue
        }
      }
      return bad.prefix(limit).map { StoreFinding(.damage, "the record \($0) of the history cannot be read") }
        + (bad.count > limit ? [StoreFinding(.damage, "\(bad.count - limit) more records of the history cannot be read")] : [])
    }
  }

  private static func isReadable(_ bytes: [UInt8], _ number: Int64, _ ids: HistoryIDs) -> Bool {
    var decoder = HistoryDecoder(bytes, number: number)
    do {
      while let record = try decoder.next() { if !ids.knows(record) { return false } }
      return true
    } catch { return false }
  }
}
