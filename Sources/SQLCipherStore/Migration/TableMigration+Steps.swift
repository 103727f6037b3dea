import ObjectModel
import ObjectStore
import SQLCipherConnection

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
