/// The tables of stable IDs; `Documentation/FileFormat.md` describes them. This file contains all SQL that uses them.
enum IdentityTables {
  /// The ranges of keys with consecutive stable IDs, by the ID of a table's key counter. The row with the ID 0 names the lineage of the
  /// file in which the last ranges began.
  static let ranges = "cipherdata_identities_ranges"
  /// The stable IDs that other stores have assigned.
  static let others = "cipherdata_identities"
  private static let names = [ranges, others]

  /// The stable IDs as a component with side tables.
  static let all = SideTables(
    name: "identities", format: 1, isRequiredByWriters: true,
    tables: [
      SideTables.Table(
        ranges, "(id INTEGER NOT NULL, first INTEGER NOT NULL, base BLOB NOT NULL, PRIMARY KEY (id, first)) WITHOUT ROWID"),
      SideTables.Table(
        others, "(id INTEGER NOT NULL, key INTEGER NOT NULL, uuid BLOB NOT NULL, PRIMARY KEY (id, key)) WITHOUT ROWID",
        indexes: ["(uuid)"]),
    ])

  static let tables = "SELECT DISTINCT id FROM \(ranges) WHERE id > 0"
  static let range = "INSERT OR REPLACE INTO \(ranges) VALUES (?, ?, ?)"
  static let rangesOfTable = "SELECT first, base FROM \(ranges) WHERE id = ?"
  static let other = "SELECT uuid FROM \(others) WHERE id = ? AND key = ?"
  static let objects = "SELECT id, key FROM \(others) WHERE uuid = ?"
  // INSERT OR REPLACE would encrypt a copy of each page that it changes, to be able to undo the statement.
  static let adding = "INSERT OR IGNORE INTO \(others) VALUES (?1, ?2, ?3)"
  static let setting = "UPDATE OR FAIL \(others) SET uuid = ?3 WHERE id = ?1 AND key = ?2"

  /// Copies the stable IDs of a table's rows to another table with the same keys.
  static func copying(from source: Int, to table: Int) -> [String] {
    deleting(of: table)
      + names.map { name in
        let columns = name == ranges ? "first, base" : "key, uuid"
        return "INSERT INTO \(name) SELECT \(table), \(columns) FROM \(name) WHERE id = \(source)"
      }
  }

  static func deleting(of table: Int) -> [String] { names.map { "DELETE FROM \($0) WHERE id = \(table)" } }

  /// Deletes the stable IDs of rows that a table does not have.
  static func purging(_ table: EntityTable) -> String {
    "DELETE FROM \(others) WHERE id = \(table.id) AND NOT EXISTS (\(table.presence(of: "\(others).key")))"
  }

  /// Count rows with values of other types, lengths or bounds.
  static let invalidRanges =
    "SELECT count(*) FROM \(ranges) WHERE typeof(id) <> 'integer' OR typeof(base) <> 'blob'"
    + " OR id > 0 AND (length(base) <> 16 OR typeof(first) <> 'integer' OR first NOT BETWEEN 1 AND \(RowKey.maximum))"
  static let invalidOthers =
    "SELECT count(*) FROM \(others)"
    + " WHERE typeof(id) <> 'integer' OR typeof(key) <> 'integer' OR typeof(uuid) <> 'blob' OR length(uuid) <> 16"
}
