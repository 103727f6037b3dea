// StoreEngine+Faulting: rows of given objects, one or many at a time.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// The rows of objects, in any order; what is gone is missing.
  func rows(of objectIDs: [ManagedObjectID], cancellation: RequestCancellation? = nil) throws -> RowList {
    if objectIDs.count == 1 { return try row(of: objectIDs[0]) }
    var keysByTable: [Int: [Int64]] = [:]
    for id in objectIDs where !id.isTemporaryID {
      keysByTable[try schema.table(of: Int(id.entityNumber)).index, default: []].append(id.key)
    }
    let writer = makeRowWriter(rowCapacity: objectIDs.count)
    try read(reusingSnapshot: true) { transaction in
      try transaction.whileWanted(cancellation) {
        for (index, keys) in keysByTable.sorted(by: { $0.key < $1.key }) {
          try self.rows.read(keys[...], of: schema.tables[index], transaction, into: writer)
        }
      }
      try transaction.connection.checkSentinel()
    }
    return writer.finish()
  }

  /// The one statement that a fault costs.
  private func row(of id: ManagedObjectID) throws -> RowList {
    let table = try schema.table(of: Int(id.entityNumber))
    return try read(reusingSnapshot: true) { transaction in
      let statement = try rows.statement(table, .one, transaction)
      defer { statement.reset() }
      try statement.bind(1, id.key)
      trace.note(statement)
      guard try statement.step() else {
        try transaction.connection.checkSentinel()
        return RowList()
      }
      let writer = makeRowWriter(rowCapacity: 1)
      try table.readRow(statement, into: writer)
      let image = writer.endRow()
      // SQLCipher reports a damaged page, except the last overflow page of a statement, which it hands out as zeros and remembers: that is what
      // the sentinel asks. A row this small has no overflow pages, even on pages of 1,024 bytes, so nothing can have been handed out.
      if image.size > table.safeRowSize { try transaction.connection.checkSentinel() }
      return writer.finish()
    }
  }
}
