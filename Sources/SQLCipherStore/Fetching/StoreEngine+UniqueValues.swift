package import ObjectModel
package import ObjectStore
import SQLCipherConnection

extension StoreRows {
  /// Calls a closure with the rows that have values under a uniqueness constraint.
  ///
  /// - Parameters:
  ///   - names: The properties of the constraint, which the entity or an ancestor declares.
  ///   - body: Receives the position of the values, and the row.
  func forEachHolder(
    of values: [[Slot]], _ names: [String], declaredBy entity: CompiledEntity, _ transaction: ReadTransaction,
    _ body: (_ position: Int, _ object: ObjectReference) throws -> Void
  ) throws {
    let table = try schema.table(of: entity.number)
    let columns = names.compactMap { name in
      entity.property(named: name)?.slotIndex.flatMap { table.column(entity: entity.number, slot: $0) }
    }
    guard columns.count == names.count else { return }
    let entities = table.entityCondition(entity.number, includesSubentities: true, model: schema.model, alias: "t")
    let size = max(1, min(300, 900 / columns.count))
    for start in stride(from: 0, to: values.count, by: size) {
      let chunk = values[start..<min(start + size, values.count)]
      let statement = try transaction.statement(sql: table.holders(of: columns, entities: entities, count: chunk.count))
      defer { statement.reset() }
      var index: Int32 = 0
      for value in chunk.joined() {
        index += 1
        try statement.bind(index, value)
      }
      trace.record(statement)
      while try statement.step() {
        try body(start + statement.int(0), try schema.reference(key: statement.int64(1), entity: statement.int(2)))
      }
    }
  }
}

extension SQLCipherIncrementalStore: UniqueValueStore {
  package func holders(
    of values: [[Slot]], under constraint: DeclaredConstraint
  ) throws -> [(position: Int, object: ObjectReference)] {
    let engine = try engine(.read)
    return try StoreError.mapping {
      try engine.read { transaction in
        var found: [(position: Int, object: ObjectReference)] = []
        let entity = engine.schema.model.entities[constraint.entity]
        try engine.rows.forEachHolder(of: values, constraint.names, declaredBy: entity, transaction) { found.append(($0, $1)) }
        return found
      }
    }
  }
}
