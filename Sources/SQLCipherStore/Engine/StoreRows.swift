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
    try rows.forEachHolder(of: claim.values, claim.names, declaredBy: claim.declaring, transaction) { index, holder in
      claims.record(holder: holder, of: claim.values[index], claim: position)
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
