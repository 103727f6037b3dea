import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The migration of one entity table: it is altered if that is sufficient, and copied otherwise.
struct TableMigration {
  enum Mode {
    /// Creates a new table, empty or with some rows of an older one.
    case create
    /// Keeps the table, adds columns, and updates rows.
    case alter
    /// Copies the rows to a new table, which finally takes the older one's name.
    case rebuild
  }

  /// The values of a newer column for the rows of an entity.
  enum Value: Hashable {
    case null
    /// The values of an older column, by its position.
    case column(Int)
    /// The values of an older column, or a literal where they are NULL.
    case columnOr(Int, String)
    case literal(String)
    /// The values of a part of a composite: those of an older column, if there is one. Where they are NULL, a literal if another older
    /// column of the composite has a value.
    case part(column: Int?, String, others: [Int])
  }

  /// An older entity with rows, and its newer version.
  struct MigratedEntity {
    let older: CompiledEntity
    let newer: CompiledEntity
    var olderNumber: Int { older.number - older.root + 1 }
    var newerNumber: Int { newer.number - newer.root + 1 }
  }

  /// A column of the newer layout.
  struct Column {
    var layout: TableLayout.Column
    let slot: CompiledSlot
    /// The position of the older column that it reuses, if the table is altered.
    var reused: Int?
    /// Its values for each survivor.
    let values: [Value]
    /// The unquoted name of the table that its foreign key refers to.
    let parent: String?
    /// The literal that ADD COLUMN assigns to all rows, if the table is altered and the column is new.
    var addedDefault: String?
    /// Whether the column of the destination's entity is new, if the table is altered.
    var addsEntityColumn = false
  }

  struct Order {
    var layout: TableLayout.OrderColumn
    /// The unquoted name of the older column that it reuses or is copied from.
    var reused: String?
  }

  let root: CompiledEntity
  /// The older table that the rows come from.
  let source: EntityTable?
  let migratedEntities: [MigratedEntity]
  /// The numbers of older entities in that table whose rows are not migrated to this table.
  let absent: [Int]
  var mode: Mode
  /// The unquoted final name, followed by the name while old and new rows coexist.
  let name: String
  var workingName: String
  let id: Int
  var keyColumn = "_pk"
  var versionColumn = "_version"
  var entityColumn: String?
  /// The entity number that ADD COLUMN assigns to the rows of a table that had one entity.
  var addedEntityNumber: Int?
  var columns: [Column]
  var orders: [Order]
  var leftovers: [String] = []
  /// Whether unused columns remain in the table, to be cleared later.
  var hasDeferredColumns = false

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

/// Generates the expressions of newer columns from rows of an older table.
struct RowExpressions {
  let map: MigrationMap
  let table: EntityTable
  /// The prefix of column names: an alias in a SELECT, the quoted table in an UPDATE.
  let prefix: String

  func name(_ column: String) -> String { "\(prefix).\(column)" }

  /// The older entity number of a row.
  var entity: String? { table.entity.map(name) }

  /// Returns how the entity of an older reference column is determined.
  func numbering(of column: TableColumn) -> OlderNumbering {
    if let entityColumn = column.entityColumn { return .stored(name(entityColumn)) }
    if case .fixed(let number) = column.destination { return .fixed(number) }
    return .stored("NULL")
  }

  /// Returns the entity numbers of an older reference column's destinations for a newer relationship.
  func numbers(_ column: TableColumn, as relationship: CompiledRelationship) -> NumberMap? {
    guard let older = column.slot.relationship else { return nil }
    return map.numbers(
      numbering(of: column), of: map.source.model.entities[older.destinationEntity],
      within: map.destination.entities[relationship.destinationEntity])
  }

  /// Returns the condition under which an older reference is kept, or `nil` if it always is.
  func isKept(_ index: Int, by column: TableMigration.Column) -> String? {
    let older = table.columns[index]
    guard let relationship = column.slot.relationship, let numbers = numbers(older, as: relationship) else { return nil }
    var conditions: [String] = []
    if let live = numbers.isLive { conditions.append(live) }
    // Without a foreign key, the column can refer to a deleted object.
    if column.parent != nil, SchemaGenerator.parent(of: older.slot, in: map.source) == nil,
      let target = older.slot.relationship.flatMap({ map.source.tableIfStored($0.destinationEntity) })
    {
      conditions.append(target.exists(name(older.name)))
    }
    return conditions.isEmpty ? nil : conditions.joined(separator: " AND ")
  }

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

  /// Returns the condition that any of the older columns has a value.
  func hasValue(_ indices: [Int]) -> String { BalancedCondition.any(indices.map { "\(name(table.columns[$0].name)) IS NOT NULL" }) }

  private func converted(_ index: Int, for column: TableMigration.Column) -> String {
    let own = name(table.columns[index].name)
    guard let (older, newer, change) = typeChange(index, of: column), change.writesValues else { return own }
    return ValueConversion.call(own, from: older, to: newer)
  }

  private func typeChange(
    _ index: Int, of column: TableMigration.Column
  ) -> (older: AttributeType, newer: AttributeType, change: AttributeTypeChange)? {
    guard let older = table.columns[index].slot.attributeType, let newer = column.slot.attributeType, older != newer else { return nil }
    return older.change(to: newer).map { (older, newer, $0) }
  }

  /// Returns whether values must be rewritten for a newer column.
  func isWritten(_ index: Int, by column: TableMigration.Column) -> Bool {
    typeChange(index, of: column)?.change.writesValues ?? false
  }

  /// Returns the condition that an older value cannot be converted to the newer attribute's type, or `nil` if every value can.
  func isUnconvertible(_ index: Int, for column: TableMigration.Column) -> String? {
    guard let (older, newer, change) = typeChange(index, of: column), change.condition != nil else { return nil }
    let own = name(table.columns[index].name)
    return "\(own) IS NOT NULL AND \(ValueConversion.call(own, from: older, to: newer)) IS NULL"
  }

  /// Returns the value of the column that contains the destination's entity.
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

  /// Combines expressions that differ by entity into one.
  func byEntity(_ migratedEntities: [TableMigration.MigratedEntity], _ texts: [String]) -> String {
    guard let first = texts.first else { return "NULL" }
    guard let entity, !texts.allSatisfy({ $0 == first }) else { return first }
    var groups: [(text: String, numbers: [Int])] = []
    for (migratedEntity, text) in zip(migratedEntities, texts) {
      if let index = groups.firstIndex(where: { $0.text == text }) {
        groups[index].numbers.append(migratedEntity.olderNumber)
      } else {
        groups.append((text, [migratedEntity.olderNumber]))
      }
    }
    let cases = groups.filter { $0.text != "NULL" }.map { group in
      "WHEN \(NumberMap.membership(entity, group.numbers.sorted())) THEN \(group.text)"
    }
    return "CASE \(cases.joined(separator: " ")) END"
  }
}
