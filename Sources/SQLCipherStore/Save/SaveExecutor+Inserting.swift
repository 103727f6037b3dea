// SaveExecutor+Inserting: new rows, many a statement; and which row and constraint were at fault when one fails.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension SaveExecutor {
  mutating func insertRows() throws {
    guard !request.inserted.isEmpty else { return }
    var groups: [Int: [Int]] = [:]
    for (position, row) in request.inserted.enumerated() { groups[row.entityNumber, default: []].append(position) }
    for (entity, positions) in groups.sorted(by: { $0.key < $1.key }) {
      let plan = try engine.saveStatements.insert(entity, schema)
      var start = 0
      while start < positions.count {
        let left = positions.count - start
        let kind = plan.rowCounts.firstIndex { $0 <= left } ?? plan.rowCounts.count - 1
        let piece = positions[start..<(start + plan.rowCounts[kind])]
        try insert(piece, entity, plan, kind)
        start += piece.count
      }
    }
  }

  /// Inserts one of the new rows.
  mutating func insertRow(_ position: Int) throws {
    let entity = request.inserted[position].entityNumber
    let plan = try engine.saveStatements.insert(entity, schema)
    try insert([position], entity, plan, plan.rowCounts.count - 1)
  }

  private mutating func insert(_ positions: ArraySlice<Int>, _ entity: Int, _ plan: InsertPlan, _ kind: Int) throws {
    do {
      try runInsert(positions, entity, plan, kind)
    } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
      if !namesClashes { throw UniqueValuesTaken() }
      // The rows before the one at fault have been inserted. Go on one by one, to name all that are.
      let single = plan.rowCounts.count - 1
      for position in positions where try !exists(request.inserted[position].key, in: plan.table) {
        do {
          try runInsert([position], entity, plan, single)
        } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
          try addConflicts(of: request.inserted[position])
        }
      }
    } catch let error as StoreAccessError where [ConstraintCode.primaryKey, ConstraintCode.rowID].contains(error.extendedCode) {
      var failure = StoreError(
        .internalInconsistency, "The key of a new object is in use; its ID was not obtained from this store.",
        operation: .save, path: engine.path, underlying: error)
      failure.entityName = schema.model.entities[entity].name
      throw failure
    }
  }

  private func runInsert(_ positions: ArraySlice<Int>, _ entity: Int, _ plan: InsertPlan, _ kind: Int) throws {
    let statement = try connection.statement(schema.numbers.entity(entity, kind), plan.sql(plan.rowCounts[kind]))
    var index: Int32 = 0
    let table = plan.table
    for position in positions {
      let row = request.inserted[position]
      guard row.key > 0, row.key <= KeyAllocator.greatestKey else {
        throw StoreError(
          .invalidRequest, "A new object of “\(schema.model.entities[entity].name)” has no permanent key.", operation: .save)
      }
      try statement.bind(index + 1, row.key)
      try statement.bind(index + 2, row.version)
      index += 2
      if table.entity != nil {
        index += 1
        try statement.bind(index, entity - table.entityOffset)
      }
      for step in plan.steps {
        if step.isLarge, !row.isNull(step.slot) {
          try bindLarge(step, row, at: &index, to: statement)
        } else {
          try step.bind(row, at: &index, to: statement)
        }
      }
      for relationship in plan.orders {
        index += 1
        if let order = insertedOrders[OrderedMember(relationship: relationship, key: row.key)] {
          try statement.bind(index, order)
        } else {
          try statement.bindNull(index)
        }
      }
    }
    engine.trace.note(statement)
    try statement.run()
  }

  private func exists(_ key: Int64, in table: EntityTable) throws -> Bool {
    let statement = try connection.statement(sql: "SELECT 1 FROM \(table.name) AS t WHERE t.\(table.key) = ?")
    defer { statement.reset() }
    try statement.bind(1, key)
    return try statement.step()
  }

  /// Finds the constraints that keep a row out, and who has the values.
  mutating func addConflicts(of row: RowImage) throws {
    let table = try schema.table(of: row.entityNumber)
    var entity: CompiledEntity? = schema.model.entities[row.entityNumber]
    while let declaring = entity {
      for constraint in declaring.entityDescription.uniquenessConstraints {
        guard let holder = try holder(of: constraint, declaredBy: declaring, row, table) else { continue }
        let known = clashes.firstIndex { $0.declaring === declaring && $0.constraint == constraint && $0.holder == holder }
        if let known {
          clashes[known].rows.append(row.reference)
        } else {
          clashes.append(Clash(declaring: declaring, constraint: constraint, holder: holder, rows: [row.reference]))
        }
      }
      entity = declaring.parent.map { schema.model.entities[$0] }
    }
  }

  /// The error that names all clashes.
  func constraintConflict() -> StoreError {
    let names = clashes[0].constraint.joined(separator: ", ")
    var error = StoreError(
      .constraintConflict, "Objects of “\(clashes[0].declaring.name)” have the same values of \(names). Nothing was saved.",
      operation: .save, path: engine.path)
    error.entityName = clashes[0].declaring.name
    let saved = Set(request.inserted.map(\.reference) + request.updated.map(\.row.reference))
    error.constraintConflicts = clashes.map { clash in
      let isOfSave = saved.contains(clash.holder)
      let rows = isOfSave ? [clash.holder] + clash.rows : clash.rows
      return ConstraintConflict(
        entityName: clash.declaring.name, constraint: clash.constraint,
        objectIDs: rows.map { StoreEngine.objectID(of: $0, in: space) },
        databaseObjectID: isOfSave ? nil : StoreEngine.objectID(of: clash.holder, in: space))
    }
    return error
  }

  /// Another row that has a row's values under a constraint.
  private func holder(
    of constraint: [String], declaredBy declaring: CompiledEntity, _ row: RowImage, _ table: EntityTable
  ) throws -> ObjectReference? {
    let slots = constraint.compactMap { declaring.property(named: $0)?.slotIndex }
    let columns = slots.compactMap { table.column(entity: row.entityNumber, slot: $0) }
    guard columns.count == constraint.count, !slots.contains(where: { row.isNull($0) }) else { return nil }
    var conditions = columns.map { "t.\($0.name) = ?" } + ["t.\(table.key) <> ?"]
    if let ofEntity = table.entityCondition(declaring.number, includesSubentities: true, model: schema.model, alias: "t") {
      conditions.append(ofEntity)
    }
    let entity = table.entity.map { "t.\($0) + \(table.entityOffset)" } ?? "\(table.root.number)"
    let statement = try connection.statement(
      sql: "SELECT t.\(table.key), \(entity) FROM \(table.name) AS t WHERE \(conditions.joined(separator: " AND ")) LIMIT 1")
    defer { statement.reset() }
    for (position, slot) in slots.enumerated() {
      let index = Int32(position + 1)
      if columns[position].slot.kind == .reference {
        try statement.bind(index, row.reference(slot).key)
      } else {
        try statement.bind(index, row.slot(slot, kind: columns[position].slot.kind))
      }
    }
    try statement.bind(Int32(slots.count + 1), row.key)
    guard try statement.step() else { return nil }
    return try schema.reference(key: statement.int64(0), entity: statement.int(1))
  }
}

extension CompiledProperty {
  /// The slot of an attribute or to-one relationship.
  var slotIndex: Int? {
    switch self {
    case .attribute(let slot): slot.index
    case .toOne(let relationship): relationship.index
    case .toMany, .composite, .fetched: nil
    }
  }
}
