import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The names of the bookkeeping tables.
enum BookkeepingTables {
  /// What a store knows of itself, in one row.
  static let metadata = "cipherdata_metadata"
  /// The key counters of the tables.
  static let keys = "cipherdata_keys"
  /// The large values outside the rows: one row for each file that some row refers to.
  static let externals = "cipherdata_external"
  /// Names that entities' tables do not get: in use, or kept for later versions.
  static let reservedNames =
    HistoryTables.all + [
      metadata, keys, "cipherdata_history_changes", "cipherdata_deferred", externals,
    ]

  /// The statements that make the tables of a new store.
  static let creation = [
    "CREATE TABLE \(metadata) (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, identifier TEXT NOT NULL, type TEXT NOT NULL,"
      + " checksum TEXT NOT NULL, layout_basis TEXT NOT NULL, version_identifiers TEXT NOT NULL, user_metadata TEXT NOT NULL,"
      + " hashes TEXT NOT NULL, layout TEXT NOT NULL, model BLOB NOT NULL, past_models TEXT NOT NULL, deferred TEXT NOT NULL)",
    "CREATE TABLE \(keys) (id INTEGER PRIMARY KEY, next INTEGER NOT NULL)",
  ]

  /// The statements that make the table of large values where there is none.
  static let creationOfExternals = [
    "CREATE TABLE IF NOT EXISTS \(externals) (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, digest BLOB NOT NULL, removed INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS \(externals)_removed ON \(externals) (removed) WHERE removed = 1",
  ]

  // MARK: Metadata

  /// The statements that add what format 1 did not have.
  static let upgrade = [
    "ALTER TABLE \(metadata) ADD COLUMN past_models TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE \(metadata) ADD COLUMN deferred TEXT NOT NULL DEFAULT '[]'",
  ]

  /// Takes away, in an attached copy, the note that all indexes and triggers are there.
  static func forgettingAuxiliaries(in schema: String) -> String { "UPDATE \(schema).\(metadata) SET layout_basis = ''" }

  // MARK: Tables left over

  /// Drops a table that nothing reads any more, that of a removed entity or relationship.
  static func droppingLeftover(_ table: String) throws -> String { "DROP TABLE \(try Identifier.quoted(table))" }

  // MARK: Key counters

  /// Forgets a table's counter.
  static func forgettingKeys(of table: Int) -> String { "DELETE FROM \(keys) WHERE id = \(table)" }

  /// Gives a table the counter of another, so that no key is used twice.
  static func copyingKeys(of source: Int, to table: Int) -> String {
    "INSERT INTO \(keys) SELECT \(table), next FROM \(keys) WHERE id = \(source)"
  }

  // MARK: Large values

  /// Notes values as removed.
  ///
  /// - Parameter numbers: Expressions of their numbers.
  static func removingExternals(_ numbers: [String]) -> String {
    "UPDATE \(externals) SET removed = 1 WHERE id IN (\(numbers.joined(separator: ", ")))"
  }

  /// Notes the values that are in none of some queries of numbers as removed.
  static func removingExternals(notIn queries: [String]) -> String {
    "UPDATE \(externals) SET removed = 1" + (queries.isEmpty ? "" : " WHERE id NOT IN (\(CompoundSelect.joined(queries, by: "UNION ALL")))")
  }

  /// Empties the list of an attached copy.
  static func emptyingExternals(in schema: String) -> String { "DELETE FROM \(schema).\(externals)" }

  /// The first numbers that rows have and the list has not.
  ///
  /// - Parameter numbers: A query of the numbers in rows as `x`.
  static func danglingExternals(_ numbers: String) -> String {
    "SELECT x FROM (\(numbers)) WHERE x NOT IN (SELECT id FROM \(externals) WHERE removed = 0) LIMIT 100"
  }

  /// The first numbers that several rows have.
  ///
  /// - Parameter numbers: A query of the numbers in rows as `x`.
  static func repeatedExternals(_ numbers: String) -> String {
    "SELECT x FROM (\(numbers)) GROUP BY x HAVING count(*) > 1 LIMIT 100"
  }

  /// The first numbers of the list that no row has.
  static func unusedExternals(_ numbers: String) -> String {
    "SELECT id FROM \(externals) WHERE removed = 0 AND id NOT IN (SELECT x FROM (\(numbers))) LIMIT 100"
  }
}

/// A statement over the bookkeeping tables that connections keep: the case is its number, on all connections the same.
enum BookkeepingStatement: Int, CaseIterable, Sendable {
  /// The short columns of the metadata.
  case record
  /// The same of format 1.
  case recordOfFormat1
  case format, hashes, layout, pastModels, model
  /// Writes the row of a new store.
  case creation
  /// Writes what a new format, a migration, the clearing away of something, or another model of the same hashes changes.
  case upgrade, migration, clearing, renewal
  /// Writes what the application keeps.
  case userMetadata

  /// The next key of a table, and a new one.
  case nextKey, reservation

  /// Whether there is the table of large values; the numbers in it.
  case hasExternals, externals
  /// The numbers and sizes of the values in use, and of the removed ones.
  case usedExternals, removedExternals
  /// Whether a value is in use; a new one; the end of the removed ones.
  case isUsed, listing, forgetting

  /// How many tables, indexes and so on there are.
  case objectCount
  /// Indexes, triggers, views and virtual tables, in the order in which they can be dropped; the same without views, with the tables they belong to.
  case auxiliaries, auxiliariesOfTables
  /// Indexes over functions of ours.
  case functionIndexes
  /// The views and tables of full-text indexes.
  case wordViews, fullTextTables
  /// All triggers, and those of derived attributes.
  case triggers, derivationTriggers
  /// What SQLite's query planner goes by.
  case statistics
  /// Tables and indexes with their first pages.
  case trees

  /// How many there are.
  static let count = allCases.count

  /// The text.
  var sql: String {
    let metadata = BookkeepingTables.metadata
    let (keys, externals) = (BookkeepingTables.keys, BookkeepingTables.externals)
    func column(_ name: String) -> String { "SELECT \(name) FROM \(metadata) WHERE id = 1" }
    func update(_ columns: String...) -> String {
      "UPDATE \(metadata) SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = 1"
    }
    func objects(_ condition: String) -> String { "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND \(condition)" }
    return switch self {
    case .record, .recordOfFormat1:
      "SELECT format, identifier, type, checksum, layout_basis, version_identifiers, user_metadata, \(self == .record ? "deferred" : "'[]'"),"
        + " EXISTS (SELECT 1 FROM sqlite_master WHERE name = '\(externals)') FROM \(metadata) WHERE id = 1"
    case .format: column("format")
    case .hashes: column("hashes")
    case .layout: column("layout")
    case .pastModels: column("past_models")
    case .model: column("model")
    case .creation: "INSERT INTO \(metadata) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', '[]')"
    case .upgrade: update("format", "model")
    case .migration: update("checksum", "layout_basis", "version_identifiers", "hashes", "layout", "model", "past_models", "deferred")
    case .clearing: update("layout", "layout_basis", "deferred")
    case .renewal: update("layout_basis", "model")
    case .userMetadata: update("user_metadata")

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
  /// The prepared statement over bookkeeping tables. The connection keeps it: reset it after use, and do not use it twice at once.
  func statement(_ statement: BookkeepingStatement) throws(StoreAccessError) -> Statement {
    try self.statement(statement.rawValue, statement.sql)
  }

  /// The names and texts that a statement over SQLite's list gives.
  func objects(_ statement: BookkeepingStatement) throws -> [(name: String, sql: String)] {
    let statement = try self.statement(statement)
    defer { statement.reset() }
    var result: [(name: String, sql: String)] = []
    while try statement.step() { result.append((statement.text(0), statement.text(1))) }
    return result
  }
}
