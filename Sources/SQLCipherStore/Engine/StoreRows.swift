import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Reads rows by key.
struct StoreRows: Sendable {
  let statements: StoreStatements
  var schema: StoreSchema { statements.schema }
  let trace: StatementTrace
  let path: String

  func read(_ keys: ArraySlice<Int64>, of table: EntityTable, _ transaction: ReadTransaction, into writer: RowWriter) throws {
    try KeyListSize.forEachChunk(of: keys) { chunk, size in
      let statement = try statement(table, size, transaction)
      defer { statement.reset() }
      try size.bind(chunk, to: statement)
      trace.record(statement)
      while try statement.step() {
        try table.readRow(statement, into: writer)
        writer.closeRow()
      }
    }
  }

  func statement(_ table: EntityTable, _ size: KeyListSize, _ transaction: ReadTransaction) throws -> Statement {
    try statements.statement(.rows(table: table.index, size), on: transaction.connection)
  }
}

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

/// SQLite's extended result codes for constraint violations.
enum ConstraintCode {
  static let foreignKey: Int32 = 787
  static let primaryKey: Int32 = 1555
  static let unique: Int32 = 2067
  static let rowID: Int32 = 2579
}
