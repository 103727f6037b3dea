import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Verifies that the records of a store's history are readable.
enum HistoryVerification {
  /// The maximum number of records that are listed individually.
  private static let limit = 20

  /// Returns the damaged records; empty if the store has no history.
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
        // The rows of a transaction are contiguous. The first rows of the oldest transaction may be deleted.
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
      while let record = try decoder.next() { if !ids.resolves(record) { return false } }
      return true
    } catch { return false }
  }
}
