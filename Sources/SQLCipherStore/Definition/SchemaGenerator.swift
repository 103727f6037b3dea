import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// The DDL of a schema. Property columns carry no NOT NULL and no CHECK: validation is the context's, and parking a unique swap needs NULL.
struct SchemaGenerator {
  let schema: StoreSchema
  /// What the names of indexes begin with: a migration makes some for a while, beside those of the same tables.
  var prefix = ""

  /// Every table, in order.
  func tables() throws -> [String] {
    try schema.tables.map { try createTable($0) } + schema.joins.map { createJoinTable($0) }
  }

  /// Every index. The same model and layout give the same ones.
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

  /// The statement that makes an entity's table, under another quoted name while a migration fills it.
  func createTable(_ table: EntityTable, named name: String? = nil) throws -> String {
    let orders = try schema.layout.tables[table.index].orderColumns.map { try Identifier.quoted($0.name) }
    return try table.creation(named: name, orders: orders) { Self.parent(of: $0.slot, in: schema) }
  }

  /// The number of the entity that a to-one column's foreign key leads to. There is one wherever the model cannot leave a dangling key: not without
  /// inverse, not where deleting the destination does nothing.
  static func parent(of slot: CompiledSlot, in model: CompiledModel) -> Int? {
    guard let relationship = slot.relationship, let inverse = model.inverse(of: relationship), !inverse.isTransient,
      inverse.deleteRule != .noAction
    else { return nil }
    return relationship.destinationEntity
  }

  /// The table that a to-one column's foreign key leads to, not quoted; nil where there is none.
  static func parent(of slot: CompiledSlot, in schema: StoreSchema) -> String? {
    parent(of: slot, in: schema.model).flatMap { schema.tableIfHeld($0)?.plainName }
  }

  /// The statement that makes a relationship's table, under another quoted name while a migration fills it.
  func createJoinTable(_ side: JoinSide, named name: String? = nil) -> String {
    side.creation(
      named: name, tables: (schema.tableIfHeld(side.nearEntityNumber), schema.tableIfHeld(side.farEntityNumber)))
  }

  /// To-one columns through which inverses are read; with the order, if there is one.
  private func relationshipIndexes(of table: EntityTable, names: inout NameAllocator) throws -> [StoreIndex] {
    var result: [StoreIndex] = []
    for column in table.columns {
      guard let relationship = column.slot.relationship else { continue }
      let inverse = schema.model.inverse(of: relationship).flatMap { $0.isTransient ? nil : $0 }
      // Without an inverse only derived attributes are read through it, from an object to those that refer to it.
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
        // Ranges in several dimensions and some expressions are not built; an index never changes what a fetch returns.
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

  /// The key of an element over an expression; nil where it cannot be indexed.
  private func indexedKey(_ element: FetchIndexElement, of entity: CompiledEntity, in table: EntityTable) throws -> String? {
    guard let expression = IndexedExpressions.resolved(element, of: entity, schema.model) else { return nil }
    let scope = QueryScope(table: table, alias: table.name)
    return try QueryGenerator(schema: schema, constants: .literals([])).indexedValue(expression, [scope]).text
      .replacing("\(table.name).", with: "")
  }

  /// Whether an index of a uniqueness constraint begins with the same properties: another one would only cost.
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

  /// A subentity's constraint concerns its rows only.
  private func rowsBelow(_ entity: CompiledEntity, _ table: EntityTable) -> String {
    let condition = table.entityCondition(entity.number, includesSubentities: true, model: schema.model, alias: table.name)
    return condition.map { " WHERE \($0.replacing("\(table.name).", with: "", maxReplacements: 1))" } ?? ""
  }
}
