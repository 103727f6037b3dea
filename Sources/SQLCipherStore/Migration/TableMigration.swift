import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The way from an older entity table to a newer one.
struct TableMigration {
  enum Mode {
    /// A new table, empty or filled with some rows of an older one.
    case create
    /// The table stays; columns are added, rows updated.
    case alter
    /// The rows are copied into a new table, which takes the older one's name in the end.
    case rebuild
  }

  /// What a newer column of some rows holds.
  enum Value: Hashable {
    case null
    /// An older column, by its position.
    case column(Int)
    /// An older column, with a literal where it holds nothing.
    case columnOr(Int, String)
    case literal(String)
    /// A part of a composite: an older column, if there is one. Without a value in it, a literal where one of the composite's other older columns has a value.
    case part(column: Int?, String, others: [Int])
  }

  /// An older entity with rows, and what it became.
  struct Survivor {
    let older: CompiledEntity
    let newer: CompiledEntity
    var olderNumber: Int { older.number - older.root + 1 }
    var newerNumber: Int { newer.number - newer.root + 1 }
  }

  /// A column of the newer layout.
  struct Column {
    var layout: TableLayout.Column
    let slot: CompiledSlot
    /// The position of the older column that it physically is, where the table is altered.
    var carrier: Int?
    /// What it holds, by survivor.
    let values: [Value]
    /// The table that a foreign key leads to, not quoted.
    let parent: String?
    /// Where it is altered and new: the literal that ADD COLUMN gives all rows.
    var addedDefault: String?
    /// Whether the companion column is new, where the table is altered.
    var addsEntityColumn = false
  }

  struct Order {
    var layout: TableLayout.OrderColumn
    /// The older column it is, or is copied from; not quoted.
    var carrier: String?
  }

  let root: CompiledEntity
  /// The older table that the rows come from.
  let source: EntityTable?
  let survivors: [Survivor]
  /// The numbers of older entities in that table whose rows do not come here.
  let absent: [Int]
  var mode: Mode
  /// Not quoted: the name in the end, and the one it has while old and new rows are both there.
  let name: String
  var workingName: String
  let id: Int
  var keyColumn = "_pk"
  var versionColumn = "_version"
  var entityColumn: String?
  /// What ADD COLUMN gives the rows of a table that had one entity only.
  var addedEntityNumber: Int?
  var columns: [Column]
  var orders: [Order]
  var leftovers: [String] = []
  /// Whether something that is not needed any more was left in the table to be cleared away later.
  var hasDeferredColumns = false

  /// The layout to be recorded.
  var layout: TableLayout.Table {
    TableLayout.Table(
      id: id, name: name, keyColumn: keyColumn, versionColumn: versionColumn, entityColumn: entityColumn,
      entities: root.subtree.map { number in
        TableLayout.Entity(name: rootNames[number - root.number], discriminator: number - root.number + 1)
      },
      columns: columns.map(\.layout), orderColumns: orders.map(\.layout), leftovers: leftovers.isEmpty ? nil : leftovers)
  }
  let rootNames: [String]
}

// MARK: - Expressions

/// Writes the expressions of newer columns over rows of an older table.
struct RowExpressions {
  let map: MigrationMap
  let table: EntityTable
  /// What stands before column names: an alias in a SELECT, the quoted table in an UPDATE.
  let prefix: String

  func name(_ column: String) -> String { "\(prefix).\(column)" }

  /// The older number of a row's own entity.
  var entity: String? { table.entity.map(name) }

  /// How the entity that an older reference column leads to is known.
  func numbering(of column: TableColumn) -> OlderNumbering {
    if let entityColumn = column.entityColumn { return .stored(name(entityColumn)) }
    if case .fixed(let number) = column.destination { return .fixed(number) }
    return .stored("NULL")
  }

  /// The numbers of the objects that an older column's references lead to, as a newer relationship sees them.
  func numbers(_ column: TableColumn, as relationship: CompiledRelationship) -> NumberMap? {
    guard let older = column.slot.relationship else { return nil }
    return map.numbers(
      numbering(of: column), of: map.source.model.entities[older.destinationEntity],
      within: map.destination.entities[relationship.destinationEntity])
  }

  /// The condition under which an older reference is kept; nil where it always is.
  func isKept(_ index: Int, by column: TableMigration.Column) -> String? {
    let older = table.columns[index]
    guard let relationship = column.slot.relationship, let numbers = numbers(older, as: relationship) else { return nil }
    var conditions: [String] = []
    if let live = numbers.isLive { conditions.append(live) }
    // Without a foreign key it may lead to an object that was deleted.
    if column.parent != nil, SchemaGenerator.parent(of: older.slot, in: map.source) == nil,
      let target = older.slot.relationship.flatMap({ map.source.tableIfHeld($0.destinationEntity) })
    {
      conditions.append(target.exists(name(older.name)))
    }
    return conditions.isEmpty ? nil : conditions.joined(separator: " AND ")
  }

  /// The value of a newer column.
  func value(_ value: TableMigration.Value, of column: TableMigration.Column) -> String {
    switch value {
    case .null: return "NULL"
    case .literal(let text): return text
    case .columnOr(let index, let text): return "ifnull(\(converted(index, for: column)), \(text))"
    case .part(let index, let text, let others):
      let literal = "CASE WHEN \(hasValue(others)) THEN \(text) END"
      return index.map { "ifnull(\(converted($0, for: column)), \(literal))" } ?? literal
    case .column(let index):
      let own = converted(index, for: column)
      return isKept(index, by: column).map { "CASE WHEN \($0) THEN \(own) END" } ?? own
    }
  }

  /// The condition that one of some older columns has a value.
  func hasValue(_ indices: [Int]) -> String { BalancedCondition.any(indices.map { "\(name(table.columns[$0].name)) IS NOT NULL" }) }

  /// An older column's value as the newer attribute's type holds it.
  private func converted(_ index: Int, for column: TableMigration.Column) -> String {
    let own = name(table.columns[index].name)
    guard let (older, newer, change) = typeChange(index, of: column), change.writesValues else { return own }
    return ValueConversion.call(own, from: older, to: newer)
  }

  /// How the type of an older column's attribute changes.
  private func typeChange(
    _ index: Int, of column: TableMigration.Column
  ) -> (older: AttributeType, newer: AttributeType, change: AttributeTypeChange)? {
    guard let older = table.columns[index].slot.attributeType, let newer = column.slot.attributeType, older != newer else { return nil }
    return older.change(to: newer).map { (older, newer, $0) }
  }

  /// Whether a newer column's values are not the older ones as they are.
  func isWritten(_ index: Int, by column: TableMigration.Column) -> Bool {
    typeChange(index, of: column)?.change.writesValues ?? false
  }

  /// The condition that an older value has no counterpart in the newer attribute's type; nil where each has one.
  func isUnconvertible(_ index: Int, for column: TableMigration.Column) -> String? {
    guard let (older, newer, change) = typeChange(index, of: column), change.condition != nil else { return nil }
    let own = name(table.columns[index].name)
    return "\(own) IS NOT NULL AND \(ValueConversion.call(own, from: older, to: newer)) IS NULL"
  }

  /// The value of the column beside it, for the referred object's entity.
  func entityValue(_ value: TableMigration.Value, of column: TableMigration.Column) -> String {
    guard case .column(let index) = value, let relationship = column.slot.relationship,
      let numbers = numbers(table.columns[index], as: relationship)
    else { return "NULL" }
    var condition = isKept(index, by: column)
    if case .fixed = numbers.numbering {
      let exists = "\(name(table.columns[index].name)) IS NOT NULL"
      condition = condition.map { "\(exists) AND \($0)" } ?? exists
    }
    return condition.map { "CASE WHEN \($0) THEN \(numbers.value) END" } ?? numbers.value
  }

  /// One expression for what differs by entity.
  func byEntity(_ survivors: [TableMigration.Survivor], _ texts: [String]) -> String {
    guard let first = texts.first else { return "NULL" }
    guard let entity, !texts.allSatisfy({ $0 == first }) else { return first }
    var groups: [(text: String, numbers: [Int])] = []
    for (survivor, text) in zip(survivors, texts) {
      if let index = groups.firstIndex(where: { $0.text == text }) {
        groups[index].numbers.append(survivor.olderNumber)
      } else {
        groups.append((text, [survivor.olderNumber]))
      }
    }
    let cases = groups.filter { $0.text != "NULL" }.map { group in
      "WHEN \(NumberMap.membership(entity, group.numbers.sorted())) THEN \(group.text)"
    }
    return "CASE \(cases.joined(separator: " ")) END"
  }
}
