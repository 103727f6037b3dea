// StoreEngine: an open store: its connections, schema, keys and plans. One object does the reading and writing of all threads.
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// What an open store works with.
final class StoreEngine: Sendable {
  let path: String
  /// None where the engine works inside a transaction that others have.
  private let connections: ConnectionPool?
  let statements: StoreStatements
  var schema: StoreSchema { statements.schema }
  let keys: KeyAllocator
  let plans: SelectPlanCache
  let saveStatements: SaveStatementCache
  let trace: StatementTrace
  let rows: StoreRows
  let tableSizes = TableSizes()
  /// The large values outside the rows, where there may be any.
  let externals: ExternalStorage?
  /// What triggers note on the writer.
  let marks: DerivationMarks
  /// Whether a history is kept, and by what.
  let history: StoreHistory
  /// Who takes part in each write transaction, in order.
  let participants: [any TransactionParticipant]
  /// The state that holds still and was begun last.
  let lastGeneration = LastGeneration()
  /// The transaction that is held over several requests, for those that belong to it.
  private let held = TransactionExtent<WriteTransaction>()

  init(
    path: String, pool: ConnectionPool?, statements: StoreStatements, trace: StatementTrace, marks: DerivationMarks = DerivationMarks(),
    watch: ModelWatch? = nil, externals: ExternalStorage? = nil, history: StoreHistory = StoreHistory(),
    retention: HistoryRetention = .unlimited
  ) {
    self.path = path
    connections = pool
    self.statements = statements
    let schema = statements.schema
    self.trace = trace
    self.marks = marks
    self.externals = externals
    self.history = history
    marks.prepare(for: schema.derivations)
    rows = StoreRows(statements: statements, trace: trace, path: path)
    keys = KeyAllocator(tableCount: schema.tables.count)
    var participants = Self.participants(
      watch: watch, rows: rows, marks: marks, externals: externals, history: history, keys: keys, sizes: tableSizes)
    // The last: it writes in a transaction of its own, behind one that is over.
    if retention != .unlimited { participants.append(HistoryPurge(retention, history: history, trace: trace)) }
    self.participants = participants
    if let pool, let externals { pool.afterHolding { [weak externals] in externals?.tidySoon() } }
    saveStatements = SaveStatementCache(numbers: statements.numbers.updates)
    plans = SelectPlanCache(numbers: statements.numbers.fetches)
  }

  /// An engine for requests that are parts of a transaction that others have, see ``join(_:_:)``. Triggers are away until it ends.
  convenience init(path: String, joining transaction: WriteTransaction, statements: StoreStatements, trace: StatementTrace) {
    let externals = transaction.files.flatMap { ExternalStorage(joining: transaction.connection, threshold: $0.storage.threshold) }
    self.init(path: path, pool: nil, statements: statements, trace: trace, externals: externals)
  }

  var pool: ConnectionPool {
    get throws {
      if let connections { return connections }
      throw StoreError(.misuse(.stepIsOver), operation: .migrate, path: path)
    }
  }

  /// A prepared statement over an entity's table; see ``StoreStatements``.
  @inline(__always) func statement(_ statement: EntityStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try statements.statement(statement, on: connection)
  }

  /// A prepared statement over a join table.
  @inline(__always) func statement(_ statement: JoinStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try statements.statement(statement, on: connection)
  }

  /// A writer for rows of this store.
  func makeRowWriter(rowCapacity: Int) -> RowWriter {
    let writer = RowWriter(rowCapacity: rowCapacity)
    writer.externals = externals
    return writer
  }

  /// A writer for rows of this store that are read one at a time.
  func makeSingleRowWriter() -> RowWriter {
    let writer = RowWriter(ofSingleRows: ())
    writer.externals = externals
    return writer
  }

  // MARK: Transactions

  /// Runs `body` in a read transaction: in that of a generation, or else inside ``transaction(_:)`` in that one.
  ///
  /// - Parameters:
  ///   - generation: The state that is read; nil for the newest.
  ///   - reusingSnapshot: Takes a snapshot that is still open. The body checks the sentinel itself then, if it has to.
  func read<Result>(
    from generation: SnapshotGeneration? = nil, reusingSnapshot: Bool = false, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    if let generation { return try generation.read(checks: !reusingSnapshot, body) }
    if let transaction = held.current {
      let result = try body(transaction.reading)
      try transaction.connection.checkSentinel()
      return result
    }
    guard externals != nil else {
      return try pool.withReader(reusingSnapshot: reusingSnapshot) { try body(ReadTransaction(connection: $0)) }
    }
    // A value may be replaced while a condition reads it; the next snapshot has another.
    for _ in 0..<3 {
      do {
        return try pool.withReader(reusingSnapshot: reusingSnapshot) { try body(ReadTransaction(connection: $0)) }
      } catch let error as StoreAccessError where error.kind == .externalDataMissing {
        continue
      }
    }
    return try pool.withReader { try body(ReadTransaction(connection: $0)) }
  }

  /// The transaction over several requests that the caller is inside of.
  @inline(__always) var heldTransaction: ReadTransaction? { held.current?.reading }

  /// Begins a write transaction; inside ``transaction(_:)``, a part of that which can fail alone. Whoever begins one commits it or rolls it back.
  func begin(_ purpose: consuming WriteTransaction.Purpose = .init()) throws -> WriteTransaction {
    if let transaction = held.current { return try .begin(partOf: transaction, participants, purpose) }
    let pool = try pool
    return try .begin(on: try pool.takeWriter(), participants, purpose, from: pool)
  }

  /// Runs `body` in a write transaction, or in a part of one, see ``begin(_:)``.
  func write<Result>(_ purpose: WriteTransaction.Purpose = .init(), _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try begin(purpose).run(body)
  }

  /// Runs `body`, whose requests are one transaction: each is a part of it.
  func transaction(_ body: () throws -> Void) throws {
    try write(.init(holdsRequests: true)) { transaction in try held.run(transaction, body) }
  }

  /// Runs `body`, whose requests are parts of a transaction that others have begun and will end.
  func join<Result>(_ transaction: WriteTransaction, _ body: () throws -> Result) rethrows -> Result {
    let joined = WriteTransaction.joining(transaction)
    joined.keep(keys)
    return try held.run(joined, body)
  }

  // MARK: Keys

  /// Keys for new rows of a table. What is reserved in a transaction over several requests is given to nobody else before it is committed.
  func newKeys(_ count: Int, for table: EntityTable) throws -> [Int64] {
    let keys = held.current?.keys ?? keys
    var result = Array(keys.take(count, for: table))
    while result.count < count {
      // Not under a lock: the writer may be waited for. Two threads that reserve at once lose a block's rest at most.
      let needed = count - result.count
      let block = try write { transaction in
        trace.note(transaction.connection, "reserve keys")
        return try keys.reserve(needed, for: table, transaction)
      }
      keys.begin(block, of: table)
      result += keys.take(needed, for: table)
    }
    return result
  }

  /// Reserves as many keys as somebody else has given out from 1 on, without a list of them.
  ///
  /// - Returns: What is to be added to each of his.
  func reserveKeys(upTo greatest: Int64, for table: EntityTable) throws -> Int64 {
    guard greatest > 0 else { return 0 }
    let (keys, count) = (held.current?.keys ?? keys, Int(greatest))
    // A block that was reserved before is given up: its rest lies below the new one.
    keys.begin(try write { try keys.reserve(count, for: table, $0) }, of: table)
    return keys.take(count, for: table).lowerBound - 1
  }
}
