import ObjectModel

extension EntityTable {
  /// How many objects an error names at most.
  private static let greatestNamedCount = 100

  /// The condition that a row is noted in a batch's table.
  func isIn(_ batch: BatchTable) -> String { "\(name).\(key) IN \(batch.keys)" }

  /// Reads the keys and entities of the rows that a batch's table notes.
  func references(in batch: BatchTable) -> String {
    "SELECT \(reference(alias: "t")) FROM \(batch.source) AS b CROSS JOIN \(name) AS t ON t.\(key) = b.k"
  }

  /// Reads the keys and entities of rows.
  ///
  /// - Parameters:
  ///   - condition: Over the table's name.
  ///   - isNaming: Whether only as many are read as an error names.
  func references(where condition: String, isNaming: Bool) -> String {
    "SELECT \(reference(alias: name)) FROM \(name) WHERE \(condition)" + (isNaming ? " ORDER BY 1 LIMIT \(Self.greatestNamedCount)" : "")
  }

  /// Reads what the rows that a batch's table notes refer to: key, entity, the destination's key and, where a column holds it, its entity's number.
  func destinations(by column: TableColumn, in batch: BatchTable) -> String {
    "SELECT \(reference(alias: "t")), t.\(column.name)\(column.entityColumn.map { ", t.\($0)" } ?? "")"
      + " FROM \(batch.source) AS b CROSS JOIN \(name) AS t ON t.\(key) = b.k WHERE t.\(column.name) IS NOT NULL"
  }

  /// Reads what the rows that meet a condition refer to, as the other one.
  func destinations(by column: TableColumn, where condition: String) -> String {
    "SELECT \(reference(alias: name)), \(name).\(column.name)\(column.entityColumn.map { ", \(name).\($0)" } ?? "") FROM \(name) WHERE \(condition)"
  }

  /// Reads the rows that a batch's table notes, each with the first of its values.
  func rows(in batch: BatchTable, valueCount: Int = 0) -> String {
    let values = (0..<valueCount).map { ", b.v\($0)" }.joined()
    return "SELECT \(readColumns(alias: "t"))\(values) FROM \(batch.source) AS b CROSS JOIN \(name) AS t ON t.\(key) = b.k"
  }

  /// Tells whether there is a row that meets a condition.
  func hasRow(where condition: String) -> String { "SELECT 1 FROM \(name) WHERE \(condition) LIMIT 1" }

  // MARK: Which rows

  /// Notes the rows that are there, by their keys.
  func noting(in batch: BatchTable, _ size: KeyListSize) -> String {
    "INSERT INTO \(batch.source) (k) SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) \(size.condition)"
  }

  /// Notes the rows that meet a condition, where they are not noted yet.
  func noting(in batch: BatchTable, where condition: String) -> String {
    "INSERT OR IGNORE INTO \(batch.source) (k) SELECT \(name).\(key) FROM \(name) WHERE \(condition)"
  }

  // MARK: Cascades

  /// What stands before the source of a cascade, where `d` are the rows of this table that it reaches: the generation.
  func cascade(into batch: BatchTable) -> String { "INSERT OR IGNORE INTO \(batch.source) (k, g) SELECT d.\(key), ? FROM " }

  /// Notes the rows that rows of a generation refer to.
  func cascade(into batch: BatchTable, through column: TableColumn, of source: EntityTable, _ sources: BatchTable) -> String {
    cascade(into: batch) + "\(source.name) AS s JOIN \(name) AS d ON d.\(key) = s.\(column.name)"
      + " WHERE s.\(source.key) IN \(sources.keysOfGeneration)"
  }

  /// Notes the rows that refer to rows of a generation.
  func cascade(into batch: BatchTable, throughInverse column: TableColumn, _ sources: BatchTable) -> String {
    cascade(into: batch) + "\(name) AS d WHERE d.\(column.name) IN \(sources.keysOfGeneration)"
  }

  // MARK: Rules

  /// Reads the rows that must not go, since others are there: `t` in the condition.
  func refusing(in batch: BatchTable, where condition: String) -> String {
    "SELECT \(reference(alias: "t")) FROM \(name) AS t WHERE t.\(key) IN \(batch.keys) AND \(condition)"
      + " ORDER BY 1 LIMIT \(Self.greatestNamedCount)"
  }

  /// The condition that a row, `t`, refers to one of this table that stays.
  func isReferred(by column: TableColumn, besides doomed: BatchTable?) -> String {
    "EXISTS (SELECT 1 FROM \(name) AS d WHERE d.\(key) = t.\(column.name)\(doomed?.lacks("d.\(key)") ?? ""))"
  }

  /// The condition that a row of this table that stays refers to a row of another, `t`.
  func refers(by column: TableColumn, to table: EntityTable, besides doomed: BatchTable?) -> String {
    "EXISTS (SELECT 1 FROM \(name) AS d WHERE d.\(column.name) = t.\(table.key)\(doomed?.lacks("d.\(key)") ?? ""))"
  }

  // MARK: Letting go

  /// The condition that a row refers to one that a batch's table notes.
  func refers(by column: TableColumn, to batch: BatchTable, besides doomed: BatchTable? = nil) -> String {
    "\(name).\(column.name) IN \(batch.keys)" + (doomed?.lacks("\(name).\(key)") ?? "")
  }

  /// The condition that the row of this table to which another table's column refers leads back to the other table's row by a column of its own.
  func leads(by own: TableColumn, to other: EntityTable, from column: TableColumn) -> String {
    "EXISTS (SELECT 1 FROM \(name) AS s WHERE s.\(key) = \(other.name).\(column.name) AND s.\(own.name) = \(other.name).\(other.key))"
  }

  /// Takes references, and the places that they had in an order, out of rows.
  func releasing(_ column: TableColumn, order: String?, where condition: String) -> String {
    "UPDATE OR FAIL \(name) SET \(Self.cleared(column))\(order.map { ", \($0) = NULL" } ?? "") WHERE \(condition)"
  }

  /// Takes the references of to-one relationships to rows that are updated out of others, whose versions grow.
  ///
  /// - Parameter isUpdated: Whether rows of this table are themselves updated: the versions of these grow with their update.
  func releasing(_ column: TableColumn, from batch: BatchTable, isUpdated: Bool) -> String {
    let step = isUpdated ? "CASE WHEN \(isIn(batch)) THEN 0 ELSE 1 END" : "1"
    return "UPDATE OR FAIL \(name) SET \(Self.cleared(column)), \(version) = \(version) + \(step) WHERE \(refers(by: column, to: batch))"
  }

  /// The assignments that leave a to-one relationship without a destination.
  private static func cleared(_ column: TableColumn) -> String {
    ([column.name] + [column.entityColumn].compactMap { $0 }).map { "\($0) = NULL" }.joined(separator: ", ")
  }

  /// Lets the versions of rows grow.
  func bumping(in batch: BatchTable) -> String { "UPDATE OR FAIL \(name) SET \(version) = \(version) + 1 WHERE \(isIn(batch))" }

  /// Deletes rows.
  func deletion(in batch: BatchTable) -> String { "DELETE FROM \(name) WHERE \(isIn(batch))" }

  // MARK: Updates

  /// Writes NULL into columns of rows.
  func clearing(_ columns: [String], in batch: BatchTable) -> String {
    "UPDATE OR FAIL \(name) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")) WHERE \(isIn(batch))"
  }

  /// Gives the rows that come to an owner places behind all others, by their keys: the last place, the owner.
  func placingLast(_ order: String, of owner: String, in batch: BatchTable) -> String {
    "UPDATE OR FAIL \(name) SET \(order) = ? + \(name).\(key) WHERE \(isIn(batch)) AND \(name).\(owner) IS NOT ?"
  }

  /// Writes values into rows, whose versions grow.
  func assigning(_ assignments: [(column: String, value: String)], in batch: BatchTable) -> String {
    let texts = [(column: version, value: "\(version) + 1")] + assignments
    return "UPDATE OR FAIL \(name) SET \(texts.map { "\($0.column) = \($0.value)" }.joined(separator: ", ")) WHERE \(isIn(batch))"
  }

  /// Finds two rows of each group that has the same values.
  ///
  /// - Parameters:
  ///   - values: Expressions over the alias `t`.
  ///   - condition: Over the same alias.
  func pairs(withSame values: [String], where condition: String?) -> String {
    let names = values.indices.map { "n\($0)" }
    let columns = zip(values, names).map { "\($0) AS \($1)" }
    return "SELECT min(k), max(k) FROM (SELECT t.\(key) AS k, \(columns.joined(separator: ", ")) FROM \(name) AS t"
      + (condition.map { " WHERE \($0)" } ?? "") + ") WHERE \(BalancedCondition.all(names.map { "\($0) IS NOT NULL" }))"
      + " GROUP BY \(names.joined(separator: ", ")) HAVING count(*) > 1 ORDER BY 1 LIMIT \(Self.greatestNamedCount)"
  }
}
