// StoreEngine: an open store: its connections, schema, keys and plans. One object does the reading and writing of all threads.
import Foundation
import Logging
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// What an open store works with.
final class StoreEngine: Sendable {
  let path: String
  /// None where the engine works on a connection that somebody else has a transaction on.
  private let connections: ConnectionPool?
  let schema: StoreSchema
  let keys: KeyAllocator
  let plans: FetchPlanCache
  let saveStatements: SaveStatementCache
  let trace: StatementTrace
  let tableSizes = TableSizes()
  /// The large values outside the rows, where there may be any.
  let externals: ExternalStorage?
  /// What triggers note on the writer.
  let marks: DerivationMarks
  /// Notices that somebody else migrates the file; none where the engine is a part of a migration.
  let watch: ModelWatch?
  private let transactions = ThreadTransaction()

  init(
    path: String, pool: ConnectionPool, schema: StoreSchema, trace: StatementTrace, marks: DerivationMarks,
    watch: ModelWatch, externals: ExternalStorage? = nil
  ) {
    self.watch = watch
    self.externals = externals
    self.path = path
    connections = pool
    self.schema = schema
    self.trace = trace
    self.marks = marks
    marks.prepare(for: schema.derivations)
    keys = KeyAllocator(tableCount: schema.tables.count)
    saveStatements = SaveStatementCache(firstNumber: schema.firstPlanNumber)
    plans = FetchPlanCache(firstNumber: schema.firstPlanNumber + SaveStatementCache.capacity)
  }

  /// Works inside the write transaction that the calling thread has on a connection, until ``leaveTransaction()``.
  init(path: String, joining connection: Connection, schema: StoreSchema, trace: StatementTrace) {
    externals = (connection.attachment as? ExternalTransaction).flatMap {
      ExternalStorage(joining: connection, threshold: $0.storage.threshold)
    }
    self.path = path
    connections = nil
    watch = nil
    // Triggers are away until the migration has ended.
    marks = DerivationMarks()
    marks.prepare(for: schema.derivations)
    self.schema = schema
    self.trace = trace
    keys = KeyAllocator(tableCount: schema.tables.count)
    saveStatements = SaveStatementCache(firstNumber: schema.firstPlanNumber)
    plans = FetchPlanCache(firstNumber: schema.firstPlanNumber + SaveStatementCache.capacity)
    transactions.begin(connection, keys)
  }

  /// Lets go of the connection of somebody else's transaction; requests that follow fail.
  func leaveTransaction() { if connections == nil { transactions.end() } }

  /// The first statement number that the engine does not use.
  static func firstFreeNumber(behind schema: StoreSchema) -> Int {
    schema.firstPlanNumber + SaveStatementCache.capacity + FetchPlanCache.capacity
  }

  var pool: ConnectionPool {
    get throws {
      if let connections { return connections }
      throw StoreError(.invalidRequest, "The step of the migration is over, and its objects with it.", operation: .migrate, path: path)
    }
  }

  // MARK: Access

  /// Runs `body` in a read transaction; inside `performTransaction`, on the writer.
  ///
  /// - Parameter reusingSnapshot: Takes a snapshot that is still open. The body checks the sentinel itself then, if it has to.
  func read<Result>(reusingSnapshot: Bool = false, _ body: (Connection) throws -> Result) throws -> Result {
    if let connection = transactions.connection {
      let result = try body(connection)
      try connection.checkSentinel()
      return result
    }
    guard externals != nil else { return try pool.withReader(reusingSnapshot: reusingSnapshot, body) }
    // A value may be replaced while a condition reads it; the next snapshot has another.
    for _ in 0..<3 {
      do {
        return try pool.withReader(reusingSnapshot: reusingSnapshot, body)
      } catch let error as StoreAccessError where error.withExternalKind.kind == .externalDataMissing {
        continue
      }
    }
    return try pool.withReader(body)
  }

  /// Runs `body`, whose statements on a connection end with an error once they are called off: those, and nobody else's.
  func stopping<Result>(_ connection: Connection, when cancellation: RequestCancellation?, _ body: () throws -> Result) rethrows -> Result {
    guard let cancellation else { return try body() }
    return try connection.cancelling(when: { cancellation.isCancelled }, body)
  }

  /// A writer for rows of this store.
  func makeRowWriter(rowCapacity: Int) -> RowWriter {
    let writer = RowWriter(rowCapacity: rowCapacity)
    writer.externals = externals
    return writer
  }

  /// Runs `body` as a write transaction that is no part of another.
  private func commit<Result>(_ connection: Connection, _ body: () throws -> Result) throws -> Result {
    func checkedBody() throws -> Result {
      try watch?.check(connection)
      return try body()
    }
    guard let externals else { return try connection.writeTransaction(checkedBody) }
    return try externals.committing(connection, checkedBody)
  }

  /// Runs `body` in a write transaction of its own; inside `performTransaction`, as a part of that which can fail alone.
  func write<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    if let connection = transactions.connection {
      try Self.checkAlive(connection)
      return try connection.savepoint { try body(connection) }
    }
    return try pool.withWriter { connection in try commit(connection) { try body(connection) } }
  }

  /// A statement that was called off, or a full disk, may have rolled the whole transaction back: what came after it would be written by itself.
  private static func checkAlive(_ connection: Connection) throws {
    guard connection.isInAutocommit else { return }
    throw StoreError(
      .invalidRequest, "An error has rolled the transaction back, nothing of it is written, and it goes no further: let that error end it.",
      operation: .transaction, path: connection.path)
  }

  /// Runs `body`, all whose reads and writes on this thread are one transaction.
  func transaction(_ body: () throws -> Void) throws {
    if let connection = transactions.connection {
      do {
        return try connection.savepoint(body)
      } catch {
        // Reservations of keys were part of it.
        transactions.keys?.forget()
        throw error
      }
    }
    // Keys that the body reserves are no one else's until the transaction is committed.
    let keys = self.keys.makeForTransaction()
    do {
      try pool.withWriter { connection in
        transactions.begin(connection, keys)
        defer { transactions.end() }
        try commit(connection) {
          try body()
          try Self.checkAlive(connection)
        }
      }
      _ = self.keys.adopt(keys)
    } catch {
      // Objects may live on with keys that were handed out: the file's counter has to pass them all the same.
      for index in self.keys.adopt(keys) {
        try? self.keys.reserve(1, for: schema.tables[index]) { body in try write { try body($0) } }
      }
      throw error
    }
  }

  /// The keys of the transaction that this thread has open, else of the store.
  var transactionKeys: KeyAllocator { transactions.keys ?? self.keys }

  /// Keys for new rows of a table.
  func newKeys(_ count: Int, for table: EntityTable) throws -> [Int64] {
    try transactionKeys.keys(count, for: table) { body in
      try write { connection in
        trace.note(connection, "reserve keys")
        try body(connection)
      }
    }
  }
}

/// The transaction that a thread has open over several requests.
///
/// `@unchecked Sendable`: the connection is written and read by the owning thread only, which every reader checks by the atomic first.
private final class ThreadTransaction: @unchecked Sendable {
  private let owner = Atomic<UInt>(0)
  private var open: Connection?
  private var openKeys: KeyAllocator?

  private static var thisThread: UInt { UInt(pthread_self()) }

  /// The connection, if the calling thread owns the transaction.
  var connection: Connection? {
    let owner = owner.load(ordering: .acquiring)
    guard owner != 0, owner == Self.thisThread else { return nil }
    return open
  }

  /// The transaction's own keys, for its owner.
  var keys: KeyAllocator? { connection == nil ? nil : openKeys }

  /// Called by the owner, who holds the writer.
  func begin(_ connection: Connection, _ keys: KeyAllocator) {
    open = connection
    openKeys = keys
    owner.store(Self.thisThread, ordering: .releasing)
  }

  func end() {
    owner.store(0, ordering: .releasing)
    open = nil
    openKeys = nil
  }
}
