import ObjectModel
import ObjectStore
import SQLCipherConnection

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
