/// A temporary table of a batch request: the keys of the rows concerned, in the column `k`, and what the request has to know of each.
struct BatchTable: Sendable {
  private let name: String
  private let columns: String
  private let index: String?

  /// The rows of an entity's table that are to go: key, entity, and the generation in which a cascade reached them.
  static func doomed(_ table: Int) -> BatchTable {
    BatchTable(
      name: "cipherdata_doomed_\(table)", columns: "k INTEGER PRIMARY KEY, e INTEGER, g INTEGER NOT NULL DEFAULT 0", index: "g")
  }

  /// The rows of an entity's table that let go of rows that are to go.
  static func released(_ table: Int) -> BatchTable {
    BatchTable(name: "cipherdata_released_\(table)", columns: "k INTEGER PRIMARY KEY", index: nil)
  }

  /// The rows that are updated: key, entity, and values that were computed before any row was changed, in the columns `v0`, `v1` and so on.
  static func updated(valueCount: Int) -> BatchTable {
    let columns = ["k INTEGER PRIMARY KEY", "e INTEGER"] + (0..<valueCount).map { "v\($0)" }
    return BatchTable(name: "cipherdata_updated_\(valueCount)", columns: columns.joined(separator: ", "), index: nil)
  }

  /// The table under which statements over others find it.
  var source: String { "temp.\(name)" }

  /// The statements that make the table where it is not there yet.
  var creation: [String] {
    ["CREATE TABLE IF NOT EXISTS \(source) (\(columns))"]
      + [index].compactMap { $0 }.map { "CREATE INDEX IF NOT EXISTS \(source)_\($0) ON \(name) (\($0))" }
  }

  /// Deletes all rows.
  var emptying: String { "DELETE FROM \(source)" }

  /// Takes what a query selects: keys, and entities where it selects those too.
  func taking(_ query: String, withEntities: Bool) -> String { "INSERT INTO \(source) (k\(withEntities ? ", e" : "")) \(query)" }

  /// What stands before a query that selects all columns.
  var insertion: String { "INSERT OR FAIL INTO \(source) " }

  /// The keys, as a list.
  var keys: String { "(SELECT k FROM \(source))" }

  /// The keys of one generation, as a list.
  var keysOfGeneration: String { "(SELECT k FROM \(source) WHERE g = ?)" }

  /// Reads the keys and entities.
  var references: String { "SELECT k, e FROM \(source)" }

  /// Tells whether a key is there.
  var presence: String { "SELECT 1 FROM \(source) WHERE k = ?" }

  /// The value that was computed for the row with a key.
  func value(_ position: Int, of key: String) -> String { "(SELECT b.v\(position) FROM \(source) AS b WHERE b.k = \(key))" }

  /// The condition that a key is not there, behind other conditions.
  func lacks(_ key: String) -> String { " AND \(key) NOT IN \(keys)" }
}
