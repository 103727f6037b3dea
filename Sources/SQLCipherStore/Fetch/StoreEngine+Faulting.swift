// StoreEngine+Faulting: rows of given objects, one or many at a time.
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The lengths that lists of keys in statements have: a shorter list repeats its last key, so that few statements are prepared.
enum KeyListSize {
  static let sizes = [1, 8, 40, 200, 500]

  /// The index of the smallest size that holds a count.
  static func index(for count: Int) -> Int { sizes.firstIndex { $0 >= count } ?? sizes.count - 1 }

  /// Calls `body` with pieces of a list, each with the index of its size.
  static func forEachPiece(of keys: ArraySlice<Int64>, _ body: (ArraySlice<Int64>, Int) throws -> Void) rethrows {
    var rest = keys
    while !rest.isEmpty {
      let piece = rest.prefix(sizes[sizes.count - 1])
      try body(piece, index(for: piece.count))
      rest = rest.dropFirst(piece.count)
    }
  }

  /// `= ?` or `IN (?, ...)`.
  static func condition(_ index: Int) -> String {
    index == 0 ? "= ?" : "IN (" + Array(repeating: "?", count: sizes[index]).joined(separator: ", ") + ")"
  }

  /// Binds a piece; the last key fills what is left.
  static func bind(_ keys: ArraySlice<Int64>, _ index: Int, to statement: Statement, from first: Int32 = 1) throws {
    var place = first
    for key in keys {
      try statement.bind(place, key)
      place += 1
    }
    guard let last = keys.last else { return }
    while place < first + Int32(sizes[index]) {
      try statement.bind(place, last)
      place += 1
    }
  }
}

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
      let statement = try rows.statement(table, 0, transaction)
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
