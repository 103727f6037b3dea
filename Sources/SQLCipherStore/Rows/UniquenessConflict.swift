import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Finds the rows involved in violations of uniqueness constraints, which SQLite does not report.
struct UniquenessConflict {
  let rows: StoreRows
  let transaction: ReadTransaction
  let operation: StoreOperation
  let space: ObjectIDSpace
  private var schema: StoreSchema { rows.schema }

  init(_ rows: StoreRows, _ transaction: ReadTransaction, _ operation: StoreOperation, in space: ObjectIDSpace) {
    (self.rows, self.transaction, self.operation, self.space) = (rows, transaction, operation, space)
  }

  /// Returns the error with all conflicts of the written values. It must be called in the open transaction, so that no other writer can
  /// change the conflicting rows.
  ///
  /// - Parameter error: SQLite's error, which contains none of the rows.
  func error(_ error: StoreAccessError, _ claims: UniqueClaims) throws -> StoreError {
    var claims = claims
    for position in claims.claims.indices { try findHolders(&claims, position) }
    return StoreError(claims.conflicts(in: space), operation: operation, path: rows.path, underlying: error)
      ?? StoreError(.conflictingRowMissing, operation: operation, path: rows.path, underlying: error)
  }

  private func findHolders(_ claims: inout UniqueClaims, _ position: Int) throws {
    let claim = claims.claims[position]
    let table = try schema.table(of: claim.declaring.number)
    let columns = claim.names.compactMap { name in
      claim.declaring.property(named: name)?.slotIndex.flatMap { table.column(entity: claim.declaring.number, slot: $0) }
    }
    guard columns.count == claim.names.count else { return }
    let entities = table.entityCondition(claim.declaring.number, includesSubentities: true, model: schema.model, alias: "t")
    let size = max(1, min(300, 900 / columns.count))
    var rest = claim.values[...]
    while !rest.isEmpty {
      let chunk = rest.prefix(size)
      let statement = try transaction.statement(sql: table.holders(of: columns, entities: entities, count: chunk.count))
      defer { statement.reset() }
      var index: Int32 = 0
      for value in chunk.joined() {
        index += 1
        try statement.bind(index, value)
      }
      rows.trace.record(statement)
      while try statement.step() {
        let holder = try schema.reference(key: statement.int64(1), entity: statement.int(2))
        claims.record(holder: holder, of: chunk[chunk.startIndex + statement.int(0)], claim: position)
      }
      rest = rest.dropFirst(size)
    }
  }
}
