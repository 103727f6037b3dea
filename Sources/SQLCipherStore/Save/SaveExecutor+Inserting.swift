import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

extension SaveExecutor {
  mutating func insertRows() throws {
    guard !inserted.isEmpty else { return }
    var groups: [Int: [Int]] = [:]
    // New rows of an entity are usually contiguous.
    var (entity, start) = (-1, 0)
    for (position, row) in inserted.enumerated() where row.entityNumber != entity {
      if position > start { groups[entity, default: []] += start..<position }
      (entity, start) = (row.entityNumber, position)
    }
    groups[entity, default: []] += start..<inserted.count
    for (entity, positions) in groups.sorted(by: { $0.key < $1.key }) {
      let plan = try engine.saveStatements.insert(entity, schema)
      var start = 0
      while start < positions.count {
        let size = plan.size(for: positions.count - start)
        let chunk = positions[start..<(start + plan.rowCounts[size.rawValue])]
        try insert(chunk, entity, plan, size)
        start += chunk.count
      }
    }
  }

  mutating func insertRow(_ position: Int) throws {
    let entity = inserted[position].entityNumber
    let plan = try engine.saveStatements.insert(entity, schema)
    try insert([position], entity, plan, .one)
  }

  private mutating func insert(_ positions: ArraySlice<Int>, _ entity: Int, _ plan: InsertPlan, _ size: InsertionSize) throws {
    do {
      try runInsert(positions, entity, plan, size)
    } catch let error as StoreAccessError where [ConstraintCode.primaryKey, ConstraintCode.rowID].contains(error.extendedCode) {
      var failure = StoreError(.keyInUse, operation: .save, path: engine.path, underlying: error)
      failure.entityName = schema.model.entities[entity].name
      throw failure
    }
  }

  private func runInsert(_ positions: ArraySlice<Int>, _ entity: Int, _ plan: InsertPlan, _ size: InsertionSize) throws {
    let statement = try engine.statement(.insertion(entity: entity, size), on: connection)
    var index: Int32 = 0
    let table = plan.table
    for position in positions {
      let row = inserted[position]
      guard row.key > 0, row.key <= RowKey.maximum else {
        throw StoreError(.noPermanentKey(entity: schema.model.entities[entity].name), operation: .save)
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
    engine.trace.record(statement)
    try statement.run()
  }
}

extension CompiledProperty {
  /// The slot of an attribute or to-one relationship, or `nil` for other properties.
  var slotIndex: Int? {
    switch self {
    case .attribute(let slot): slot.index
    case .toOne(let relationship): relationship.index
    case .toMany, .composite, .fetched: nil
    }
  }
}
