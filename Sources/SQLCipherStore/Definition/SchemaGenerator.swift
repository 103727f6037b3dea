import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// Generates the DDL of a schema.
///
/// Property columns have neither NOT NULL nor CHECK constraints: contexts validate values, and swapping unique values needs a temporary
/// NULL.
struct SchemaGenerator {
  let schema: StoreSchema
  /// The prefix of index names. A migration uses it for temporary indexes on the same tables.
  var prefix = ""

  /// Returns the statements that create the tables, in order.
  func tables() throws -> [String] {
    try schema.tables.map { try createTable($0) } + schema.joins.map { createJoinTable($0) }
  }

  /// Returns all indexes. The result depends only on the model and the layout.
  func indexes() throws -> [StoreIndex] {
    var names = NameAllocator(
      reserved: BookkeepingTables.reservedNames + schema.layout.physicalTables)
    var result: [StoreIndex] = []
    for side in schema.joins {
      let join = schema.layout.joinTables[side.tableIndex]
      result.append(
        try side.index(
          named: prefix + names.take("i_\(join.name)_target"),
          .init(origin: .relationship, entityName: join.entity, name: join.property)))
    }
    for table in schema.tables {
      result += try relationshipIndexes(of: table, names: &names)
      result += try declaredIndexes(of: table, names: &names)
    }
    return result
  }

  /// Returns the statement that creates an entity's table, under another quoted name while a migration fills it.
  func createTable(_ table: EntityTable, named name: String? = nil) throws -> String {
    let orders = try schema.layout.tables[table.index].orderColumns.map { try Identifier.quoted($0.name) }
    return try table.creation(named: name, orders: orders) { Self.parent(of: $0.slot, in: schema) }
  }

  /// Returns the number of the entity that a to-one column's foreign key references.
  ///
  /// A column has a foreign key if the model prevents dangling references: it has an inverse, and deleting the destination leaves no
  /// references to it.
  static func parent(of slot: CompiledSlot, in model: CompiledModel) -> Int? {
    guard let relationship = slot.relationship, let inverse = model.inverse(of: relationship), !inverse.isTransient,
      inverse.deleteEffect.leavesNoReferences
    else { return nil }
    return relationship.destinationEntity
  }

  /// Returns the unquoted name of the table that a to-one column's foreign key references, or `nil` if there is none.
  static func parent(of slot: CompiledSlot, in schema: StoreSchema) -> String? {
    parent(of: slot, in: schema.model).flatMap { schema.tableIfStored($0)?.plainName }
  }

  /// Returns the statement that creates a relationship's join table, under another quoted name while a migration fills it.
  func createJoinTable(_ side: JoinSide, named name: String? = nil) -> String {
    side.creation(
      named: name, tables: (schema.tableIfStored(side.nearEntityNumber), schema.tableIfStored(side.farEntityNumber)))
  }

  /// Returns the indexes of the to-one columns through which inverses are read, including the order if there is one.
  private func relationshipIndexes(of table: EntityTable, names: inout NameAllocator) throws -> [StoreIndex] {
    var result: [StoreIndex] = []
    for column in table.columns {
      guard let relationship = column.slot.relationship else { continue }
      let inverse = schema.model.inverse(of: relationship).flatMap { $0.isTransient ? nil : $0 }
      // Without an inverse, only derived attributes read from an object to those that refer to it.
      guard inverse != nil || schema.isDerived(over: relationship) else { continue }
      var elements = [column.name]
      if let inverse, case .inverse(let side) = schema.relationships[inverse.id], let order = side.order { elements.append(order) }
      result.append(
        try table.index(
          named: prefix + names.take("i_\(table.plainName)_\(column.slot.name)"), elements,
          .init(
            origin: .relationship, entityName: schema.model.entities[column.slot.declaringEntity].name, name: column.slot.name,
            properties: [column.slot.name])))
    }
    return result
  }

  private func declaredIndexes(of table: EntityTable, names: inout NameAllocator) throws -> [StoreIndex] {
    var result: [StoreIndex] = []
    for number in table.root.subtree {
      let entity = schema.model.entities[number]
      for constraint in entity.entityDescription.uniquenessConstraints {
        let columns = constraint.compactMap { column(named: $0, of: entity, in: table)?.name }
        guard columns.count == constraint.count, !columns.isEmpty else { continue }
        result.append(
          try table.index(
            named: prefix + names.take("u_\(entity.name)_\(constraint.joined(separator: "_"))"), columns, isUnique: true,
            where: rowsBelow(entity, table), .init(origin: .uniqueness, entityName: entity.name, properties: constraint)))
      }
      for description in entity.entityDescription.effectiveIndexes {
        let elements = try description.elements.compactMap { element -> String? in
          if element.expression != nil {
            return try indexedKey(element, of: entity, in: table).map { $0 + (element.isAscending ? "" : " DESC") }
          }
          guard element.kind == .binary, let property = element.propertyName, let column = column(named: property, of: entity, in: table)
          else { return nil }
          let folding = element.folding
          let key = folding.isEmpty ? column.name : "\(SQLFunctions.foldIndexed)(\(column.name), \(Int(folding.rawValue)))"
          return key + (element.isAscending ? "" : " DESC")
        }
        // Multidimensional ranges and some expressions are not supported. Indexes never change the result of a fetch.
        guard elements.count == description.elements.count, !elements.isEmpty, elements.count < LibraryVersion.maximumColumns else {
          continue
        }
        var condition = ""
        if let predicate = description.partialIndexPredicate {
          guard let text = try PartialIndex.condition(predicate, of: entity, schema: schema) else { continue }
          condition = " WHERE " + text
        } else if isServed(description, by: entity.entityDescription.uniquenessConstraints) {
          continue
        }
        result.append(
          try table.index(
            named: prefix + names.take("i_\(entity.name)_\(description.name)"), elements, where: condition,
            .init(
              origin: .declared, entityName: entity.name, name: description.name,
              properties: description.elements.compactMap { element in
                element.propertyName.map { $0 + element.folding.foldingMark } ?? element.expression
              })))
      }
    }
    return result
  }

  /// Returns the key of an expression element, or `nil` if it cannot be indexed.
  private func indexedKey(_ element: FetchIndexElement, of entity: CompiledEntity, in table: EntityTable) throws -> String? {
    guard let expression = IndexedExpressions.resolved(element, of: entity, schema.model) else { return nil }
    let scope = QueryScope(table: table, alias: table.name)
    return try QueryGenerator(schema: schema, constants: .literals([])).indexedValue(expression, [scope]).text
      .replacing("\(table.name).", with: "")
  }

  /// Returns whether the index of a uniqueness constraint starts with the same properties, which makes another one redundant.
  private func isServed(_ index: FetchIndexDescription, by constraints: [[String]]) -> Bool {
    guard index.elements.allSatisfy(\.folding.isEmpty) else { return false }
    let names = index.elements.map { $0.propertyName ?? "" }
    guard names.count == 1 || index.elements.allSatisfy(\.isAscending) else { return false }
    return constraints.contains { $0.starts(with: names) }
  }

  private func column(named name: String, of entity: CompiledEntity, in table: EntityTable) -> TableColumn? {
    switch entity.property(named: name) {
    case .attribute(let slot): table.column(entity: entity.number, slot: slot.index)
    case .toOne(let relationship): table.column(entity: entity.number, slot: relationship.index)
    default: nil
    }
  }

  /// Returns the condition that limits a constraint to the rows of its entity and subentities.
  private func rowsBelow(_ entity: CompiledEntity, _ table: EntityTable) -> String {
    let condition = table.entityCondition(entity.number, includesSubentities: true, model: schema.model, alias: table.name)
    return condition.map { " WHERE \($0.replacing("\(table.name).", with: "", maxReplacements: 1))" } ?? ""
  }
}

/// Translates predicates of partial indexes to SQL.
enum PartialIndex {
  /// Returns the SQL condition for the predicate format of an entity's partial index, or `nil` if SQLite cannot index it.
  ///
  /// Paths to other objects, functions of this library (later versions of SQLite do not allow a schema to call them), and invalid formats
  /// (``IndexFormats``) cannot be indexed.
  static func condition(_ format: String, of entity: CompiledEntity, schema: StoreSchema) throws -> String? {
    guard let fetch = try? IndexFormats.resolved(format, of: entity, in: schema.model) else { return nil }
    let table = try schema.table(of: entity.number)
    let generator = QueryGenerator(schema: schema, constants: .literals(fetch.constants))
    let scope = QueryScope(table: table, alias: table.name)
    let condition = try generator.condition(fetch.predicate, [scope])
    guard scope.joinCount == 0, !condition.hasSubquery, !condition.text.contains("cd_") else { return nil }
    return condition.text
  }
}

/// Checks a schema against the limits of the linked library before a file is created or changed.
///
/// Models do not reach limits of names, tables, indexes and statements. Indexes with too many columns are not created, since they never
/// change the result of a fetch.
struct SchemaLimits {
  let schema: StoreSchema

  /// Throws if the schema exceeds a limit of the library.
  static func check(_ schema: StoreSchema, path: String, operation: StoreOperation) throws(StoreError) {
    if let problem = SchemaLimits(schema: schema).problem { throw StoreError(problem, operation: operation, path: path) }
  }

  /// The first limit that the schema exceeds, or `nil` if there is none.
  var problem: StoreError.Reason? { tables ?? rows }

  /// Returns whether the library supports the number of columns of a table.
  static func fits(_ table: TableLayout.Table) -> Bool { table.physicalColumns.count <= LibraryVersion.maximumColumns }

  /// Checks the number of columns. All entities of a tree share one table.
  private var tables: StoreError.Reason? {
    guard let table = schema.layout.tables.first(where: { !Self.fits($0) }) else { return nil }
    return .tooManyColumns(
      entities: table.entities.map(\.name), count: table.physicalColumns.count, limit: LibraryVersion.maximumColumns)
  }

  /// Checks the number of values in a row. Old versions of SQLite can bind fewer values than a table can have columns.
  private var rows: StoreError.Reason? {
    for table in schema.tables {
      let orders = schema.layout.tables[table.index].orderColumns.count
      for number in table.root.subtree where !schema.model.entities[number].isAbstract {
        // An update also binds the key and the expected version.
        let count = table.insertedCount(of: number, orderCount: orders) + 2
        guard count > LibraryVersion.maximumVariables else { continue }
        return .tooManyValues(entity: schema.model.entities[number].name, count: count, limit: LibraryVersion.maximumVariables)
      }
    }
    return nil
  }
}
