/// The tables of stable IDs; `Documentation/FileFormat.md` describes them. This file contains all SQL that uses them.
enum IdentityTables {
  /// The ranges of keys with consecutive stable IDs, by the ID of a table's key counter. The row with the ID 0 names the lineage of the
  /// file in which the last ranges began.
  static let ranges = "cipherdata_identity_ranges"
  /// The stable IDs that other stores have assigned.
  static let others = "cipherdata_identities"
  static let all = [ranges, others]

  static let creation = [
    "CREATE TABLE \(ranges) (id INTEGER NOT NULL, first INTEGER NOT NULL, base BLOB NOT NULL, PRIMARY KEY (id, first)) WITHOUT ROWID",
    "CREATE TABLE \(others) (id INTEGER NOT NULL, key INTEGER NOT NULL, uuid BLOB NOT NULL, PRIMARY KEY (id, key)) WITHOUT ROWID",
    "CREATE INDEX \(others)_uuid ON \(others) (uuid)",
  ]
  static let removal = all.map { "DROP TABLE IF EXISTS \($0)" }

  static let tables = "SELECT DISTINCT id FROM \(ranges) WHERE id > 0"
  static let existence = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '\(ranges)'"
  static let range = "INSERT OR REPLACE INTO \(ranges) VALUES (?, ?, ?)"
  static let rangesOfTable = "SELECT first, base FROM \(ranges) WHERE id = ?"
  static let other = "SELECT uuid FROM \(others) WHERE id = ? AND key = ?"
  static let objects = "SELECT id, key FROM \(others) WHERE uuid = ?"
  static let setting = "INSERT OR REPLACE INTO \(others) VALUES (?, ?, ?)"

  /// Copies the stable IDs of a table's rows to another table with the same keys.
  static func copying(from source: Int, to table: Int) -> [String] {
    deleting(of: table)
      + all.map { name in
        let columns = name == ranges ? "first, base" : "key, uuid"
        return "INSERT INTO \(name) SELECT \(table), \(columns) FROM \(name) WHERE id = \(source)"
      }
  }

  static func deleting(of table: Int) -> [String] { all.map { "DELETE FROM \($0) WHERE id = \(table)" } }
}
