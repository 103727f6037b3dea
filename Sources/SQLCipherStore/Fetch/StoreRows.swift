// StoreRows: rows by their keys, as every part of the store reads them.
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Reads rows of given keys.
struct StoreRows: Sendable {
  let schema: StoreSchema
  let trace: StatementTrace
  let path: String

  /// Reads the rows of keys of one table.
  func read(_ keys: ArraySlice<Int64>, of table: EntityTable, _ transaction: ReadTransaction, into writer: RowWriter) throws {
    try KeyListSize.forEachPiece(of: keys) { piece, size in
      let statement = try statement(table, size, transaction)
      defer { statement.reset() }
      try KeyListSize.bind(piece, size, to: statement)
      trace.note(statement)
      while try statement.step() {
        try table.readRow(statement, into: writer)
        writer.endRow()
      }
    }
  }

  /// The statement that reads the rows of keys.
  func statement(_ table: EntityTable, _ size: Int, _ transaction: ReadTransaction) throws -> Statement {
    try transaction.connection.statement(
      schema.numbers.table(table.index, size),
      "SELECT \(table.readColumns(alias: "t")) FROM \(table.name) AS t WHERE t.\(table.key) \(KeyListSize.condition(size))")
  }
}
