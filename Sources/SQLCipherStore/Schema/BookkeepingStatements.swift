import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The tables that every store has in addition to those of its model.
///
/// This enum and ``BookkeepingStatement`` contain all SQL that uses these tables and `sqlite_master`.
enum BookkeepingTables {
  /// The metadata of the store, in one row.
  static let metadata = "cipherdata_metadata"
  /// The key counters of the tables.
  static let keys = "cipherdata_keys"
  /// The large values in files: one row for each referenced file.
  static let externals = "cipherdata_external"
  /// The lineage of the file, in one row.
  static let lineage = "cipherdata_lineage"
  /// Names that tables of entities cannot have: they are in use or reserved for later versions.
  static let reservedNames =
    (HistoryTables.all.tables + IdentityTables.all.tables).map(\.name) + [
      metadata, keys, "cipherdata_history_changes", "cipherdata_deferred", externals, lineage,
    ]

  static let creation = [
    "CREATE TABLE \(metadata) (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, identifier TEXT NOT NULL, type TEXT NOT NULL,"
      + " checksum TEXT NOT NULL, layout_basis TEXT NOT NULL, version_identifiers TEXT NOT NULL, user_metadata TEXT NOT NULL,"
      + " hashes TEXT NOT NULL, layout TEXT NOT NULL, model BLOB NOT NULL, past_models TEXT NOT NULL, deferred TEXT NOT NULL)",
    "CREATE TABLE \(keys) (id INTEGER PRIMARY KEY, next INTEGER NOT NULL)",
    LineageTable.table.creation,
  ]

  /// The statements that create the table of large values if it does not exist.
  static let creationOfExternals = [
    "CREATE TABLE IF NOT EXISTS \(externals) (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, digest BLOB NOT NULL, removed INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS \(externals)_removed ON \(externals) (removed) WHERE removed = 1",
  ]

  // MARK: Metadata

  /// The statements that add the columns missing in format 1.
  static let upgrade = [
    "ALTER TABLE \(metadata) ADD COLUMN past_models TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE \(metadata) ADD COLUMN deferred TEXT NOT NULL DEFAULT '[]'",
  ]

  /// Clears the layout basis of an attached copy, so that its indexes and triggers are checked at the next opening.
  static func clearingLayoutBasis(in schema: String) -> String { "UPDATE \(schema).\(metadata) SET layout_basis = ''" }

  /// Adds the column of the components to the metadata table of a store that never had any.
  static let sideTablesColumn = "ALTER TABLE \(metadata) ADD COLUMN side_tables TEXT"

  /// Writes the components in the metadata of an attached copy.
  static func writingSideTables(_ text: String, format: Int, in schema: String) -> String {
    "UPDATE \(schema).\(metadata) SET format = \(format), side_tables = '\(text)'"
  }

  // MARK: Leftover tables

  /// Drops the unused table of a removed entity, relationship or component.
  static func droppingTable(_ table: String) throws -> String { "DROP TABLE \(try Identifier.quoted(table))" }

  // MARK: Key counters

  /// Deletes the counter of a table.
  static func deletingKeyCounter(of table: Int) -> String { "DELETE FROM \(keys) WHERE id = \(table)" }

  /// Copies the counter of one table to another, so that no key is used twice.
  static func copyingKeys(of source: Int, to table: Int) -> String {
    "INSERT INTO \(keys) SELECT \(table), next FROM \(keys) WHERE id = \(source)"
  }

  // MARK: Large values

  /// Marks values as removed.
  ///
  /// - Parameter numbers: SQL expressions for their numbers.
  static func removingExternals(_ numbers: [String]) -> String {
    "UPDATE \(externals) SET removed = 1 WHERE id IN (\(numbers.joined(separator: ", ")))"
  }

  /// Marks the values as removed that are in none of the queries of numbers.
  static func removingExternals(notIn queries: [String]) -> String {
    "UPDATE \(externals) SET removed = 1" + (queries.isEmpty ? "" : " WHERE id NOT IN (\(CompoundSelect.joined(queries, by: "UNION ALL")))")
  }

  /// Empties the table of large values in an attached copy.
  static func emptyingExternals(in schema: String) -> String { "DELETE FROM \(schema).\(externals)" }

  /// Selects up to 100 numbers that rows contain but the table of large values does not.
  ///
  /// - Parameter numbers: A query of the numbers in rows as `x`.
  static func danglingExternals(_ numbers: String) -> String {
    "SELECT x FROM (\(numbers)) WHERE x NOT IN (SELECT id FROM \(externals) WHERE removed = 0) LIMIT 100"
  }

  /// Selects up to 100 numbers that more than one row contains.
  ///
  /// - Parameter numbers: A query of the numbers in rows as `x`.
  static func repeatedExternals(_ numbers: String) -> String {
    "SELECT x FROM (\(numbers)) GROUP BY x HAVING count(*) > 1 LIMIT 100"
  }

  /// Selects up to 100 numbers in the table of large values that no row contains.
  static func unusedExternals(_ numbers: String) -> String {
    "SELECT id FROM \(externals) WHERE removed = 0 AND id NOT IN (SELECT x FROM (\(numbers))) LIMIT 100"
  }
}

/// A cached statement on the bookkeeping tables. Its raw value is its number, the same on all connections.
enum BookkeepingStatement: Int, CaseIterable, Sendable {
  /// Reads the short columns of the metadata.
  case record
  /// Reads the short columns of the metadata in format 1.
  case recordOfFormat1
  case format, hashes, layout, pastModels, model
  /// Selects the components with side tables; in format 3, the settings of the history.
  case sideTables, settings
  /// Selects whether the metadata table has the column of the components, and writes it.
  case hasSideTables, newSideTables
  /// Selects tables and indexes with their statements.
  case sideObjects
  /// Inserts the row of a new store.
  case creation
  /// Update the metadata after an upgrade of the format, a migration, the removal of leftovers, or the adoption of another model with the
  /// same hashes.
  case upgrade, migration, clearing, renewal
  /// Updates the layout and the layout basis.
  case newLayout
  /// Updates the application's metadata.
  case userMetadata

  /// Read and write the lineage, and select the page of its table.
  case lineage, newLineage, lineagePage
  /// Advance the mark of the lineage, and replace it.
  case advancedMark, newMark

  /// Read and write the next key of a table.
  case nextKey, reservation

  /// Select whether the table of large values exists, and the numbers in it.
  case hasExternals, externals
  /// Select the numbers and sizes of the values in use, and of the removed ones.
  case usedExternals, removedExternals
  /// Select whether a value is in use, insert a value, and delete the removed ones.
  case isUsed, listing, forgetting

  case objectCount
  /// Select indexes, triggers, views and virtual tables in an order in which they can be dropped; and the same without views, with their
  /// tables.
  case auxiliaries, auxiliariesOfTables
  /// Selects the indexes that call functions of this library.
  case functionIndexes
  /// Select the views and tables of full-text indexes.
  case wordViews, fullTextTables
  /// Select all triggers, and those of derived attributes.
  case triggers, derivationTriggers
  /// Selects the tables of the query planner's statistics.
  case statistics
  /// Selects tables and indexes with their root pages.
  case trees

  static let count = allCases.count

  var sql: String {
    let metadata = BookkeepingTables.metadata
    let (keys, externals) = (BookkeepingTables.keys, BookkeepingTables.externals)
    let lineage = BookkeepingTables.lineage
    let lineageAndMark = "FROM \(lineage) AS own LEFT JOIN \(lineage) AS mark ON mark.id = 2 WHERE own.id = 1"
    func column(_ name: String) -> String { "SELECT \(name) FROM \(metadata) WHERE id = 1" }
    func update(_ columns: String...) -> String {
      "UPDATE \(metadata) SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = 1"
    }
    func objects(_ condition: String) -> String { "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND \(condition)" }
    return switch self {
    case .record, .recordOfFormat1:
      "SELECT format, identifier, type, checksum, layout_basis, version_identifiers, user_metadata,"
        + " \(self == .recordOfFormat1 ? "'[]'" : "deferred"), EXISTS (SELECT 1 FROM sqlite_master WHERE name = '\(externals)')"
        + " FROM \(metadata) WHERE id = 1"
    case .format: column("format")
    case .hashes: column("hashes")
    case .layout: column("layout")
    case .pastModels: column("past_models")
    case .model: column("model")
    case .sideTables: column("side_tables")
    case .settings: column("history")
    case .hasSideTables: "SELECT 1 FROM sqlite_master WHERE name = '\(metadata)' AND sql LIKE '%side_tables TEXT%'"
    case .newSideTables: update("format", "side_tables")
    case .sideObjects: objects("type IN ('table', 'index')")
    case .creation: "INSERT INTO \(metadata) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', '[]')"
    case .upgrade: update("format", "model")
    case .newLayout: update("layout_basis", "layout")
    case .migration: update("checksum", "layout_basis", "version_identifiers", "hashes", "layout", "model", "past_models", "deferred")
    case .clearing: update("layout", "layout_basis", "deferred")
    case .renewal: update("layout_basis", "model")
    case .userMetadata: update("user_metadata")

    case .lineage: "SELECT own.lineage, own.birth, mark.lineage, mark.birth \(lineageAndMark)"
    case .newLineage: "INSERT OR REPLACE INTO \(lineage) VALUES (1, ?, ?)"
    case .advancedMark:
      "INSERT OR REPLACE INTO \(lineage) "
        + "SELECT 2, coalesce(mark.lineage, lower(hex(randomblob(16)))), coalesce(mark.birth, 0) + 1 \(lineageAndMark)"
    case .newMark: "INSERT OR REPLACE INTO \(lineage) VALUES (2, ?, ?)"
    case .lineagePage: "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = '\(lineage)'"

    case .nextKey: "SELECT next FROM \(keys) WHERE id = ?"
    case .reservation: "INSERT OR REPLACE INTO \(keys) VALUES (?, ?)"

    case .hasExternals: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '\(externals)'"
    case .externals: "SELECT id FROM \(externals)"
    case .usedExternals: "SELECT id, size FROM \(externals) WHERE removed = 0 ORDER BY id"
    case .removedExternals: "SELECT id, size FROM \(externals) WHERE removed = 1"
    case .isUsed: "SELECT 1 FROM \(externals) WHERE id = ? AND removed = 0"
    case .listing: "INSERT INTO \(externals) (id, size, digest) VALUES (?, ?, ?)"
    case .forgetting: "DELETE FROM \(externals) WHERE removed = 1"

    case .objectCount: "SELECT count(*) FROM sqlite_master"
    case .auxiliaries:
      "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger', 'view') AND sql IS NOT NULL"
        + " OR type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY type DESC, name"
    case .auxiliariesOfTables:
      "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
        + " OR type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
    case .functionIndexes:
      objects("type = 'index' AND (sql LIKE '%\(SQLFunctions.fold)%' OR sql LIKE '%\(SQLFunctions.indexedPrefix)%')")
    case .wordViews: objects("type = 'view' AND sql LIKE '%\(SQLFunctions.wordsPrefix)%'")
    case .fullTextTables: objects("type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts4%'")
    case .triggers: objects("type = 'trigger'")
    case .derivationTriggers: objects("type = 'trigger' AND sql LIKE '%\(SQLFunctions.derive)(%'")
    case .statistics: objects("type = 'table' AND name LIKE 'sqlite_stat_'")
    case .trees: "SELECT type, name, tbl_name, rootpage FROM sqlite_master WHERE rootpage > 0"
    }
  }
}

extension Connection {
  /// Returns a prepared statement on the bookkeeping tables. The connection caches it: reset it after use, and do not use it twice at the
  /// same time.
  func statement(_ statement: BookkeepingStatement) throws(StoreAccessError) -> Statement {
    try self.statement(statement.rawValue, statement.sql)
  }

  /// Returns the names and texts that a statement on `sqlite_master` selects.
  func objects(_ statement: BookkeepingStatement) throws -> [(name: String, sql: String)] {
    let statement = try self.statement(statement)
    defer { statement.reset() }
    var result: [(name: String, sql: String)] = []
    while try statement.step() { result.append((statement.text(0), statement.text(1))) }
    return result
  }
}
