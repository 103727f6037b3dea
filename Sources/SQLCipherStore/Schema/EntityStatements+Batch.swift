import ObjectModel

extension EntityTable {
  /// The maximum number of objects that an error lists.
  static let maximumNamedCount = 100

  /// A condition that a row is in a batch table.
  func isIn(_ batch: BatchTable) -> String { "\(name).\(key) IN \(batch.keys)" }

  /// Selects the keys and entities of the rows in a batch table, and their references: each destination's key, followed by its entity
  /// number if a column holds it.
  func references(in batch: BatchTable, with columns: [TableColumn]) -> String {
    let names = columns.flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }.map { ", t.\($0)" }.joined()
    return "SELECT \(reference(alias: "t"))\(names) FROM \(batch.source) AS b CROSS JOIN \(name) AS t ON t.\(key) = b.k"
  }

  /// Selects the keys and entities of rows.
  ///
  /// - Parameters:
  ///   - condition: A condition with the table's name.
  ///   - isNaming: Whether to limit the result to the objects that an error lists.
  func references(where condition: String, isNaming: Bool) -> String {
    "SELECT \(reference(alias: name)) FROM \(name) WHERE \(condition)" + (isNaming ? " ORDER BY 1 LIMIT \(Self.maximumNamedCount)" : "")
  }

  /// Selects the keys and entities of rows, followed by values.
  func references(_ values: [String], where condition: String) -> String {
    "SELECT \(reference(alias: name))\(values.map { ", \($0)" }.joined()) FROM \(name) WHERE \(condition)"
  }

  /// Selects the rows in a batch table, followed by the first `valueCount` computed values of each.
  func rows(in batch: BatchTable, valueCount: Int = 0) -> String {
    let values = (0..<valueCount).map { ", b.v\($0)" }.joined()
    return "SELECT \(readColumns(alias: "t"))\(values) FROM \(batch.source) AS b CROSS JOIN \(name) AS t ON t.\(key) = b.k"
  }

  /// Selects the rows that meet a condition with the table's name, followed by values.
  func rows(_ values: [String], where condition: String) -> String {
    "SELECT \(readColumns(alias: name))\(values.map { ", \($0)" }.joined()) FROM \(name) WHERE \(condition)"
  }

  /// Selects the members of owners whose keys are in a range, in the order of each one's members: the owner's key and entity, the member's
  /// key and entity. An entity that is not stored is NULL.
  func members(by column: TableColumn, order: String) -> String {
    var entity = "NULL"
    if case .stored(let offset, _) = column.destination, let name = column.entityColumn { entity = "t.\(name) + \(offset)" }
    return "SELECT t.\(column.name), \(entity), \(reference(alias: "t")) FROM \(name) AS t WHERE t.\(column.name) BETWEEN ? AND ?"
      + " ORDER BY t.\(column.name), t.\(order), t.\(key)"
  }

  /// Selects the keys of the rows that meet a condition.
  func keys(where condition: String) -> String { "SELECT \(name).\(key) FROM \(name) WHERE \(condition)" }

  /// Counts the rows that meet a condition with the table's name.
  func rowCount(where condition: String) -> String { "SELECT count(*) FROM \(name) WHERE \(condition)" }

  // MARK: Selection

  /// Inserts the keys of existing rows into a batch table.
  func insertingKeys(in batch: BatchTable, _ size: KeyListSize) -> String {
    "INSERT INTO \(batch.source) (k) SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) \(size.condition)"
  }

  /// Inserts the keys of the rows that meet a condition into an empty batch table.
  func insertingKeys(in batch: BatchTable, where condition: String) -> String {
    "INSERT INTO \(batch.source) (k) \(keys(where: condition))"
  }

  /// Inserts the keys of the rows of a set into an empty batch table. Placeholders: the lowest and the highest key.
  func insertingKeys(in batch: BatchTable, from rows: BatchRows) -> String {
    "INSERT INTO \(batch.source) (k) SELECT t.\(key) FROM \(name) AS t\(Self.scanHint)"
      + " WHERE t.\(key) BETWEEN ? AND ? AND \(rows.contains("t.\(key)"))"
  }

  /// A condition that a key is in a range and in a set.
  static func isKey(_ key: String, in range: ClosedRange<Int64>, of rows: BatchRows) -> String {
    "\(key) BETWEEN \(range.lowerBound) AND \(range.upperBound) AND \(rows.contains(key))"
  }

  /// Makes SQLite read the rows in the order of their keys.
  static let scanHint = " NOT INDEXED"

  /// The text to append to a query that limits its results.
  static func limit(_ count: Int) -> String { " LIMIT \(count)" }

  // MARK: Cascades

  /// The start of a cascade's selection, before the `FROM` source in which `d` is a row of this table. The first placeholder is the
  /// generation of the selected rows.
  var cascade: String { "SELECT d.\(key), ? FROM " }

  /// Selects the rows that rows of a generation refer to.
  func cascade(through column: TableColumn, of source: EntityTable, _ sources: BatchTable) -> String {
    cascade + "\(source.name) AS s JOIN \(name) AS d ON d.\(key) = s.\(column.name)"
      + " WHERE s.\(source.key) IN \(sources.keysOfGeneration)"
  }

  /// Selects the rows that refer to rows of a generation.
  func cascade(throughInverse column: TableColumn, _ sources: BatchTable) -> String {
    cascade + "\(name) AS d WHERE d.\(column.name) IN \(sources.keysOfGeneration)"
  }

  // MARK: Delete rules

  /// Selects the rows whose deletion is denied because related rows remain. The condition refers to the rows as `t`.
  func denying(in batch: BatchTable, where condition: String) -> String {
    "SELECT \(reference(alias: "t")) FROM \(name) AS t WHERE t.\(key) IN \(batch.keys) AND \(condition)"
      + " ORDER BY 1 LIMIT \(Self.maximumNamedCount)"
  }

  /// A condition that the row `t` refers to a row of this table that is not deleted.
  func isReferred(by column: TableColumn, besides toDelete: BatchRows?) -> String {
    "EXISTS (SELECT 1 FROM \(name) AS d WHERE d.\(key) = t.\(column.name)\(toDelete?.lacks("d.\(key)") ?? ""))"
  }

  /// A condition that a row of this table that is not deleted refers to the row `t` of another table.
  func refers(by column: TableColumn, to table: EntityTable, besides toDelete: BatchRows?) -> String {
    "EXISTS (SELECT 1 FROM \(name) AS d WHERE d.\(column.name) = t.\(table.key)\(toDelete?.lacks("d.\(key)") ?? ""))"
  }

  // MARK: Clearing references

  /// A condition that a row refers to a row of a set.
  func refers(by column: TableColumn, to rows: BatchRows, besides toDelete: BatchRows? = nil) -> String {
    rows.contains("\(name).\(column.name)") + (toDelete?.lacks("\(name).\(key)") ?? "")
  }

  /// A condition that the row of this table to which another table's column refers has a reference back to the other table's row.
  func leads(by own: TableColumn, to other: EntityTable, from column: TableColumn) -> String {
    "EXISTS (SELECT 1 FROM \(name) AS s WHERE s.\(key) = \(other.name).\(column.name) AND s.\(own.name) = \(other.name).\(other.key))"
  }

  /// Clears references of rows, and their positions in an order.
  func releasing(_ column: TableColumn, order: String?, where condition: String) -> String {
    "UPDATE OR FAIL \(name) SET \(Self.cleared(column))\(order.map { ", \($0) = NULL" } ?? "") WHERE \(condition)"
  }

  /// Clears to-one references to updated rows in other rows, and increments their versions.
  ///
  /// - Parameter updated: The updated rows of this table. Their versions are incremented by the update.
  func releasing(_ column: TableColumn, from batch: BatchTable, besides updated: BatchRows?) -> String {
    let step = updated.map { "CASE WHEN \($0.contains("\(name).\(key)")) THEN 0 ELSE 1 END" } ?? "1"
    return
      "UPDATE OR FAIL \(name) SET \(Self.cleared(column)), \(version) = \(version) + \(step)"
      + " WHERE \(refers(by: column, to: .table(batch)))"
  }

  private static func cleared(_ column: TableColumn) -> String {
    ([column.name] + [column.entityColumn].compactMap { $0 }).map { "\($0) = NULL" }.joined(separator: ", ")
  }

  /// Increments the versions of rows.
  func bumping(in batch: BatchTable) -> String { "UPDATE OR FAIL \(name) SET \(version) = \(version) + 1 WHERE \(isIn(batch))" }

  func deletion(in batch: BatchTable) -> String { "DELETE FROM \(name) WHERE \(isIn(batch))" }

  // MARK: Updates

  /// Sets columns of rows to NULL.
  func clearing(_ columns: [String], in batch: BatchTable) -> String {
    "UPDATE OR FAIL \(name) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")) WHERE \(isIn(batch))"
  }

  /// Sets the positions of rows that move to an owner after all existing ones, in the order of their keys. Placeholders: the last position,
  /// the owner.
  func positioningLast(_ order: String, of owner: String, in batch: BatchTable) -> String {
    "UPDATE OR FAIL \(name) SET \(order) = ? + \(name).\(key) WHERE \(isIn(batch)) AND \(name).\(owner) IS NOT ?"
  }

  /// Assigns values to rows, and increments their versions.
  func assigning(_ assignments: [(column: String, value: String)], in batch: BatchTable) -> String {
    let texts = [(column: version, value: "\(version) + 1")] + assignments
    return "UPDATE OR FAIL \(name) SET \(texts.map { "\($0.column) = \($0.value)" }.joined(separator: ", ")) WHERE \(isIn(batch))"
  }

  /// Replaces parked values by the values themselves, see ``SQLFunctions/park``.
  func unparking(_ columns: [String], where condition: String) -> String {
    "UPDATE OR FAIL \(name) SET \(columns.map { "\($0) = \(SQLFunctions.unpark)(\($0))" }.joined(separator: ", ")) WHERE \(condition)"
  }

  /// Selects the lowest and the highest key of each group of several rows with the same values.
  ///
  /// - Parameters:
  ///   - values: Expressions with the alias `t`.
  ///   - condition: A condition with the same alias.
  func pairs(withSame values: [String], where condition: String?) -> String {
    let names = values.indices.map { "n\($0)" }
    let columns = zip(values, names).map { "\($0) AS \($1)" }
    return "SELECT min(k), max(k) FROM (SELECT t.\(key) AS k, \(columns.joined(separator: ", ")) FROM \(name) AS t"
      + (condition.map { " WHERE \($0)" } ?? "") + ") WHERE \(BalancedCondition.all(names.map { "\($0) IS NOT NULL" }))"
      + " GROUP BY \(names.joined(separator: ", ")) HAVING count(*) > 1 ORDER BY 1 LIMIT \(Self.maximumNamedCount)"
  }
}

/// A temporary, in-memory table of a batch request: the keys of the affected rows in the column `k`, with data of the request for each row.
struct BatchTable: Sendable {
  private let name: String
  private let columns: String
  private let index: String?

  /// The rows of an entity's table to delete: key, entity, and the generation in which a cascade reached them.
  ///
  /// - Parameter hasCascades: Whether a cascade starts at the table, so that its generations have an index.
  static func toDelete(_ table: Int, hasCascades: Bool = false) -> BatchTable {
    BatchTable(
      name: "cipherdata_doomed_\(table)", columns: "k INTEGER PRIMARY KEY, e INTEGER, g INTEGER NOT NULL DEFAULT 0",
      index: hasCascades ? "g" : nil)
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

  /// Selects all rows of a query, so that a limit can follow.
  static func all(of query: String) -> String { "SELECT * FROM (\(query))" }

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

  /// Inserts rows that a cascade selects, unless the table contains them already.
  func inserting(cascade: String) -> String { "INSERT OR IGNORE INTO \(source) (k, g) \(cascade)" }

  /// Selects the keys.
  var allKeys: String { "SELECT k FROM \(source)" }
}

/// A set of rows of one entity's table that a batch request affects.
enum BatchRows {
  /// The rows in a batch table.
  case table(BatchTable)
  /// The set with a number that the request keeps outside of SQLite, see ``SQLFunctions/isChosen``.
  case chosen(Int)

  /// A condition that the set contains a key.
  func contains(_ key: String) -> String {
    switch self {
    case .table(let table): "\(key) IN \(table.keys)"
    case .chosen(let number): "\(SQLFunctions.isChosen)(\(number), \(key))"
    }
  }

  /// A condition, to append to others, that the set does not contain a key.
  func lacks(_ key: String) -> String {
    switch self {
    case .table(let table): " AND \(key) NOT IN \(table.keys)"
    case .chosen: " AND NOT \(contains(key))"
    }
  }
}
