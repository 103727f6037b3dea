/// A temporary, in-memory table of a batch request: the keys of the affected rows in the column `k`, with data of the request for each row.
struct BatchTable: Sendable {
  private let name: String
  private let columns: String
  private let index: String?

  /// The rows of an entity's table to delete: key, entity, and the generation in which a cascade reached them.
  static func toDelete(_ table: Int) -> BatchTable {
    BatchTable(
      name: "cipherdata_doomed_\(table)", columns: "k INTEGER PRIMARY KEY, e INTEGER, g INTEGER NOT NULL DEFAULT 0", index: "g")
  }

  /// The rows of an entity's table whose references to deleted rows are cleared.
  static func released(_ table: Int) -> BatchTable {
    BatchTable(name: "cipherdata_released_\(table)", columns: "k INTEGER PRIMARY KEY", index: nil)
  }

  /// The rows to update: key, entity, and values computed before any row was changed, in the columns `v0`, `v1` and so on.
  static func updated(valueCount: Int) -> BatchTable {
    let columns = ["k INTEGER PRIMARY KEY", "e INTEGER"] + (0..<valueCount).map { "v\($0)" }
    return BatchTable(name: "cipherdata_updated_\(valueCount)", columns: columns.joined(separator: ", "), index: nil)
  }

  /// The table's qualified name.
  var source: String { "temp.\(name)" }

  /// The statements that create the table if it does not exist.
  var creation: [String] {
    ["CREATE TABLE IF NOT EXISTS \(source) (\(columns))"]
      + [index].compactMap { $0 }.map { "CREATE INDEX IF NOT EXISTS \(source)_\($0) ON \(name) (\($0))" }
  }

  var emptying: String { "DELETE FROM \(source)" }

  /// Inserts the keys, and optionally the entities, that a query selects.
  func inserting(_ query: String, withEntities: Bool) -> String { "INSERT INTO \(source) (k\(withEntities ? ", e" : "")) \(query)" }

  /// The start of an insertion, before a query that selects all columns.
  var insertion: String { "INSERT OR FAIL INTO \(source) " }

  var keys: String { "(SELECT k FROM \(source))" }

  /// A subquery of the keys of one generation.
  var keysOfGeneration: String { "(SELECT k FROM \(source) WHERE g = ?)" }

  var references: String { "SELECT k, e FROM \(source)" }

  /// Selects a row if the table contains a key.
  var presence: String { "SELECT 1 FROM \(source) WHERE k = ?" }

  /// A subquery of the value computed for the row with a key.
  func value(_ position: Int, of key: String) -> String { "(SELECT b.v\(position) FROM \(source) AS b WHERE b.k = \(key))" }

  /// A condition, to append to others, that the table does not contain a key.
  func lacks(_ key: String) -> String { " AND \(key) NOT IN \(keys)" }
}
