import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Reports the orders of the members of transferred objects, at the end of a transfer.
///
/// Positions are written with the members, in the order in which the source returns them. Members and owners are new, so their keys are in
/// the reserved ranges.
final class TransferredOrders {
  /// The reserved keys by table.
  private var ranges: [Int: [ClosedRange<Int64>]] = [:]

  func add(_ table: Int, _ keys: ClosedRange<Int64>) { ranges[table, default: []].append(keys) }

  func report(to changes: ChangeStream, _ engine: StoreEngine, _ transaction: WriteTransaction) throws {
    let schema = engine.schema
    for relationship in schema.model.relationships where relationship.isOrdered && changes.needs.relationships[relationship.id] {
      guard let owners = schema.tableIfStored(relationship.sourceEntity) else { continue }
      for keys in ranges[owners.index] ?? [] {
        let sql: String
        switch schema.relationships[relationship.id] {
        case .inverse(let side):
          guard let order = side.order else { continue }
          sql = schema.tables[side.table].members(by: side.column, order: order)
        case .join(let side):
          guard side.isOrdered else { continue }
          sql = side.orderedLinks
        case .column, .none: continue
        }
        let statement = try transaction.connection.statement(sql: sql)
        defer { statement.reset() }
        try statement.bind(1, keys.lowerBound)
        try statement.bind(2, keys.upperBound)
        engine.trace.record(statement)
        try report(statement, relationship, to: changes, schema)
      }
    }
  }

  /// Reports the orders that a statement selects: owner, its entity, member, its entity. Numbers that are not stored are NULL.
  private func report(_ statement: Statement, _ relationship: CompiledRelationship, to changes: ChangeStream, _ schema: StoreSchema) throws
  {
    var (owner, members): (ObjectReference?, [ObjectReference]) = (nil, [])
    func report() throws {
      guard let owner, !members.isEmpty else { return }
      let change = OrderChange(to: members, kept: [])
      try changes.report(.order(ChangedOrder(relationship, of: owner, order: members, change, in: changes.space)))
    }
    func reference(_ column: Int32, _ entity: Int) throws -> ObjectReference {
      try schema.reference(
        key: statement.int64(column), entity: statement.isNull(column + 1) ? entity : statement.int(column + 1))
    }
    while try statement.step() {
      let next = try reference(0, relationship.sourceEntity)
      if next != owner {
        try report()
        (owner, members) = (next, [])
      }
      members.append(try reference(2, relationship.destinationEntity))
    }
    try report()
  }
}
