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

// MARK: - Row expressions

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

// MARK: - Migration steps

extension TableMigration {
  /// Returns the steps that create the table, or add its missing columns.
  ///
  /// - Parameter text: Returns the statement that creates a table of the newer schema with its working name.
  func makingSteps(_ text: () throws -> String) throws -> [MigrationStep] {
    guard mode == .alter else {
      let why = mode == .rebuild ? "rebuild the table “\(name)”" : "create the table “\(name)”"
      return [MigrationStep(summary: why, work: .schema([try text()]))]
    }
    let layout = layout
    var steps: [MigrationStep] = []
    func add(_ column: String, _ type: String, _ why: String) throws {
      let statement = try layout.adding(column, type)
      steps.append(MigrationStep(summary: "add the column “\(column)” to “\(name)”, for \(why)", work: .schema([statement])))
    }
    if let number = addedEntityNumber, let entityColumn {
      try add(entityColumn, "INTEGER NOT NULL DEFAULT \(number)", "the entity of each object")
    }
    for column in columns {
      let owner = "\(column.layout.entity).\(column.layout.property)"
      if column.reused == nil {
        var type = column.layout.kind.sqlType
        if let value = column.addedDefault { type += " DEFAULT \(value)" }
        if let parent = column.parent { type += try EntityTable.foreignKey(to: parent) }
        try add(column.layout.name, type, owner)
      }
      if column.addsEntityColumn, let name = column.layout.entityColumn {
        try add(name, "INTEGER", "the entity that \(owner) refers to")
      }
    }
    for order in orders where order.reused == nil {
      try add(order.layout.name, "INTEGER", "the order of \(order.layout.entity).\(order.layout.property)")
    }
    return steps
  }

  /// Returns the steps that copy older rows to a new table.
  func copyingSteps(_ map: MigrationMap) throws -> [MigrationStep] {
    guard mode != .alter, let source, !migratedEntities.isEmpty else { return [] }
    let rows = RowExpressions(map: map, table: source, prefix: "t")
    var values = [(column: keyColumn, value: rows.name(source.key)), (column: versionColumn, value: rows.name(source.version))]
    if let entityColumn { values.append((entityColumn, rows.byEntity(migratedEntities, migratedEntities.map { String($0.newerNumber) }))) }
    for column in columns {
      let texts = column.values.map { rows.value($0, of: column) }
      if texts.contains(where: { $0 != "NULL" }) {
        values.append((column.layout.name, rows.byEntity(migratedEntities, texts)))
      }
      guard let entityColumn = column.layout.entityColumn else { continue }
      let numbers = column.values.map { rows.entityValue($0, of: column) }
      guard numbers.contains(where: { $0 != "NULL" }) else { continue }
      values.append((entityColumn, rows.byEntity(migratedEntities, numbers)))
    }
    for order in orders {
      guard let reused = order.reused else { continue }
      values.append((order.layout.name, rows.name(try Identifier.quoted(reused))))
    }
    let condition = ownRows(rows)
    return [
      MigrationStep(
        summary: mode == .rebuild ? "copy the rows of “\(name)”" : "copy the rows of “\(name)” from “\(source.plainName)”",
        work: .batches(try source.copying(values, to: workingName, where: condition)), countSQL: source.count(where: condition),
        entities: migratedEntities.map(\.older.number))
    ]
  }

  private func ownRows(_ rows: RowExpressions) -> String? {
    guard !absent.isEmpty, let entity = rows.entity else { return nil }
    return NumberMap.membership(entity, migratedEntities.map(\.olderNumber).sorted())
  }

  /// Returns the steps that delete and update rows in place.
  func changingSteps(_ map: MigrationMap) throws -> [MigrationStep] {
    guard mode == .alter, let source else { return [] }
    var steps: [MigrationStep] = []
    let rows = RowExpressions(map: map, table: source, prefix: source.name)
    func add(
      _ summary: String, _ assignments: [(column: String, value: String)], _ condition: String?, of entities: [Int]? = nil
    ) {
      let (batches, count) = source.changing(assignments, where: condition)
      steps.append(MigrationStep(summary: summary, work: .batches(batches), countSQL: count, entities: entities))
    }
    if !absent.isEmpty, let entity = rows.entity {
      let numbers = absent.map { source.root.number + $0 - 1 }
      add(
        "delete the rows of \(numbers.map { map.source.model.entities[$0].name }.joined(separator: ", ")) from “\(name)”",
        [], NumberMap.membership(entity, absent), of: numbers)
    }
    let changes = try changes(rows)
    if !changes.isEmpty, !migratedEntities.isEmpty {
      let assignments = changes.map { (column: $0.target, value: $0.value) }
      let affected = changes.map(\.affected)
      let condition = affected.contains(nil) ? nil : BalancedCondition.any(Self.unique(affected.compactMap { $0 }))
      let what = Self.unique(changes.map(\.summary)).joined(separator: ", ")
      add("update \(what) in “\(name)”", assignments, condition)
    }
    return steps
  }

  private struct Change {
    /// The quoted column.
    let target: String
    let value: String
    /// The condition that a row must be changed, or `nil` for all rows.
    let affected: String?
    let summary: String
  }

  private func changes(_ rows: RowExpressions) throws -> [Change] {
    var result: [Change] = []
    let moved = migratedEntities.filter { $0.olderNumber != $0.newerNumber }
    if let entity = rows.entity, let entityColumn, !moved.isEmpty {
      result.append(
        Change(
          target: try Identifier.quoted(entityColumn),
          value: rows.byEntity(migratedEntities, migratedEntities.map { String($0.newerNumber) }),
          affected: NumberMap.membership(entity, moved.map(\.olderNumber).sorted()), summary: "the numbers of entities"))
    }
    for column in columns { result += try changes(of: column, rows) }
    return result
  }

  private func changes(of column: Column, _ rows: RowExpressions) throws -> [Change] {
    let own = try Identifier.quoted(column.layout.name)
    let summary = "\(column.layout.entity).\(column.layout.property)"
    var affected: [(numbers: Int, condition: String?)] = []
    var texts: [String] = []
    for (migratedEntity, value) in zip(migratedEntities, column.values) {
      let text = rows.value(value, of: column)
      let holds =
        column.reused.map { reused in
          rows.table.columns(of: migratedEntity.older.number).contains { $0.name == rows.table.columns[reused].name }
        } ?? false
      let present = holds ? rows.name(own) : column.addedDefault ?? "NULL"
      // A new column has no older values of its own.
      texts.append(column.addedDefault != nil ? present : text)
      guard text != present, column.addedDefault == nil else { continue }
      let condition: String? =
        switch value {
        case .null: "\(rows.name(own)) IS NOT NULL"
        case .columnOr(let index, _) where index == column.reused && !rows.isWritten(index, by: column): "\(rows.name(own)) IS NULL"
        case .part(nil, _, let others): "(\(rows.hasValue(others)))"
        case .part(let index?, _, let others) where index == column.reused && !rows.isWritten(index, by: column):
          "\(rows.name(own)) IS NULL AND (\(rows.hasValue(others)))"
        case .column(let index) where !holds || rows.isWritten(index, by: column):
          "\(rows.name(rows.table.columns[index].name)) IS NOT NULL"
        default: nil
        }
      affected.append((migratedEntity.olderNumber, condition))
    }
    var result: [Change] = []
    if !affected.isEmpty {
      result.append(
        Change(target: own, value: rows.byEntity(migratedEntities, texts), affected: self.affected(affected, rows), summary: summary))
    }
    if let change = try entityChange(of: column, rows, summary) { result.append(change) }
    return result
  }

  private func entityChange(of column: Column, _ rows: RowExpressions, _ summary: String) throws -> Change? {
    guard let entityColumn = column.layout.entityColumn else { return nil }
    let own = try Identifier.quoted(entityColumn)
    var affected: [(numbers: Int, condition: String?)] = []
    var texts: [String] = []
    for (migratedEntity, value) in zip(migratedEntities, column.values) {
      let text = rows.entityValue(value, of: column)
      let holds =
        !column.addsEntityColumn
        && column.reused.map { reused in
          rows.table.columns(of: migratedEntity.older.number).contains { $0.name == rows.table.columns[reused].name }
        } ?? false
      let present = holds ? rows.name(own) : "NULL"
      texts.append(text)
      guard text != present else { continue }
      if case .column(let index) = value {
        affected.append((migratedEntity.olderNumber, "\(rows.name(rows.table.columns[index].name)) IS NOT NULL"))
      } else {
        affected.append((migratedEntity.olderNumber, "\(rows.name(own)) IS NOT NULL"))
      }
    }
    guard !affected.isEmpty else { return nil }
    return Change(target: own, value: rows.byEntity(migratedEntities, texts), affected: self.affected(affected, rows), summary: summary)
  }

  /// Returns one condition for all survivors that need a change, or `nil` if all rows do.
  private func affected(_ items: [(numbers: Int, condition: String?)], _ rows: RowExpressions) -> String? {
    var groups: [(condition: String?, numbers: [Int])] = []
    for item in items {
      if let index = groups.firstIndex(where: { $0.condition == item.condition }) {
        groups[index].numbers.append(item.numbers)
      } else {
        groups.append((item.condition, [item.numbers]))
      }
    }
    var texts: [String] = []
    for group in groups {
      let isAll = group.numbers.count == migratedEntities.count || rows.entity == nil
      let members = isAll ? nil : rows.entity.map { NumberMap.membership($0, group.numbers.sorted()) }
      let parts = [members, group.condition].compactMap { $0 }
      if parts.isEmpty { return nil }
      texts.append(parts.joined(separator: " AND "))
    }
    return BalancedCondition.any(texts)
  }

  private static func unique(_ texts: [String]) -> [String] {
    var seen: Set<String> = []
    return texts.filter { seen.insert($0).inserted }
  }
}

/// The SQL function `cd_convert(value, older type, newer type)`, which converts stored values to another attribute type. It returns NULL if
/// the newer type has no such value.
enum ValueConversion {
  private static let name = "cd_convert"
  private static let types = AttributeType.allCases

  static func call(_ value: String, from older: AttributeType, to newer: AttributeType) -> String {
    "\(name)(\(value), \(number(older)), \(number(newer)))"
  }

  private static func number(_ type: AttributeType) -> Int { types.firstIndex(of: type) ?? 0 }

  /// Registers the function on a connection that migrates a store or plans a migration.
  static func register(on connection: Connection) throws {
    try connection.registerFunction(name: name, argumentCount: 3) { call in
      let (older, newer) = (Int(call.int64(1)), Int(call.int64(2)))
      guard types.indices.contains(older), types.indices.contains(newer) else { return call.setResultNull() }
      SQLFunctions.set(types[older].converted(SQLFunctions.slot(call, 0), to: types[newer]) ?? .null, call)
    }
  }
}
