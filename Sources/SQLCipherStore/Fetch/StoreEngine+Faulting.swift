import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Returns the rows of objects in any order. Deleted objects are omitted.
  ///
  /// - Parameters:
  ///   - cancellation: The cancellation of the request.
  ///   - generation: The generation to read, or `nil` for the newest state.
  func rows(
    of objectIDs: [ManagedObjectID], cancellation: RequestCancellation? = nil, from generation: SnapshotGeneration? = nil
  ) throws -> RowList {
    if objectIDs.count == 1 { return try row(of: objectIDs[0], from: generation) }
    var keysByTable: [Int: [Int64]] = [:]
    for id in objectIDs where !id.isTemporaryID {
      keysByTable[try schema.table(of: Int(id.entityNumber)).index, default: []].append(id.key)
    }
    for (index, keys) in keysByTable { trace.record(.rows(entity: schema.tables[index].root.name), objects: keys.count) }
    let writer = makeRowWriter(rowCapacity: objectIDs.count)
    try read(from: generation, reusingSnapshot: true) { transaction in
      try transaction.withCancellation(cancellation) {
        for (index, keys) in keysByTable.sorted(by: { $0.key < $1.key }) {
          try self.rows.read(keys[...], of: schema.tables[index], transaction, into: writer)
        }
      }
      try transaction.connection.checkSentinel()
    }
    return writer.finishCompactly()
  }

  /// Returns the row of one object with the single statement that fulfills a fault.
  private func row(of id: ManagedObjectID, from generation: SnapshotGeneration?) throws -> RowList {
    let table = try schema.table(of: Int(id.entityNumber))
    let writer = makeRowWriter(rowCapacity: 1)
    let read = SingleRowRead(of: table, statements: statements, trace: trace)
    return try self.read(from: generation, reusingSnapshot: true) { transaction in
      try read.row(id.key, transaction, into: writer) == nil ? RowList() : writer.finish()
    }
  }
}
