import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

/// An open store: its connections, schema, keys and plans. One instance serves the reads and writes of all threads.
final class StoreEngine: Sendable {
  let path: String
  /// The connections, or `nil` if the engine works inside another engine's transaction.
  private let connections: ConnectionPool?
  let statements: StoreStatements
  var schema: StoreSchema { statements.schema }
  let keys: KeyAllocator
  let plans: SelectPlanCache
  let saveStatements: SaveStatementCache
  let trace: StatementTrace
  let rows: StoreRows
  let tableSizes = TableSizes()
  /// The large values in files, if the store can have any.
  let externals: ExternalStorage?
  /// The derived values that triggers marked as outdated on the writer.
  let marks: OutdatedDerivations
  /// Whether a history is kept, and with which settings.
  let history: StoreHistory
  /// The components with side tables.
  let sideTables: SideTableRegistry
  /// How the changes of a migration's handlers are recorded, or `nil` for an open store.
  let stage: StageRecording?
  let participants: [any TransactionParticipant]
  let lastGeneration = LastGeneration()
  /// The current transaction over several requests.
  private let scopedTransaction = TransactionScope<WriteTransaction>()

  init(
    path: String, pool: ConnectionPool?, statements: StoreStatements, trace: StatementTrace,
    marks: OutdatedDerivations = OutdatedDerivations(),
    watch: ModelChangeDetector? = nil, externals: ExternalStorage? = nil, history: StoreHistory = StoreHistory(),
    retention: HistoryRetention = .unlimited, observers: ObservedTransactions? = nil, owners: [any SideTableOwner] = [],
    stage: StageRecording? = nil
  ) {
    self.path = path
    connections = pool
    self.statements = statements
    let schema = statements.schema
    self.trace = trace
    self.marks = marks
    self.externals = externals
    self.history = history
    sideTables = SideTableRegistry(owners, trace: trace, path: path)
    self.stage = stage
    marks.prepare(for: schema.derivations)
    rows = StoreRows(statements: statements, trace: trace, path: path)
    keys = KeyAllocator(tableCount: schema.tables.count)
    var participants = Self.participants(
      watch: watch, rows: rows, marks: marks, observers: observers, externals: externals, sideTables: sideTables, history: history,
      keys: keys, sizes: tableSizes)
    // The purge comes last: it writes in a separate transaction after the commit.
    if retention != .unlimited { participants.append(HistoryPurge(retention, history: history, trace: trace)) }
    self.participants = participants
    if let pool, let externals { pool.onLastSnapshotEnd { [weak externals] in externals?.scheduleCleanup() } }
    saveStatements = SaveStatementCache(numbers: statements.numbers.updates)
    plans = SelectPlanCache(numbers: statements.numbers.fetches)
  }

  /// Creates an engine whose requests are nested in another engine's transaction, see ``join(_:_:)``. Triggers do not exist until that
  /// transaction ends.
  convenience init(
    path: String, joining transaction: WriteTransaction, statements: StoreStatements, trace: StatementTrace, stage: StageRecording
  ) {
    let externals = transaction.files.flatMap { ExternalStorage(joining: transaction.connection, threshold: $0.storage.threshold) }
    self.init(
      path: path, pool: nil, statements: statements, trace: trace, externals: externals, history: stage.history,
      observers: stage.observers, owners: stage.owners, stage: stage)
    if let records = try? MetadataTable.readSideTables(transaction.connection, path: path) { sideTables.adopt(records) }
  }

  var pool: ConnectionPool {
    get throws {
      if let connections { return connections }
      throw StoreError(.stepHasEnded, operation: .migrate, path: path)
    }
  }

  /// Returns a prepared statement on an entity's table; see ``StoreStatements``.
  @inline(__always) func statement(_ statement: EntityStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try statements.statement(statement, on: connection)
  }

  @inline(__always) func statement(_ statement: JoinStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try statements.statement(statement, on: connection)
  }

  func makeRowWriter(rowCapacity: Int) -> RowWriter {
    let writer = RowWriter(rowCapacity: rowCapacity)
    writer.externals = externals
    return writer
  }

  /// Returns a writer for rows of this store that are read one at a time.
  func makeSingleRowWriter() -> RowWriter {
    let writer = RowWriter(ofSingleRows: ())
    writer.externals = externals
    return writer
  }

  // MARK: Transactions

  /// Runs `body` in a read transaction: in that of a generation, in the current one of ``transaction(_:)``, or in a new one.
  ///
  /// - Parameters:
  ///   - generation: The generation to read, or `nil` for the newest state.
  ///   - reusingSnapshot: Whether a snapshot that is still open may be reused. The body then calls `checkSentinel` if needed.
  func read<Result>(
    from generation: SnapshotGeneration? = nil, reusingSnapshot: Bool = false, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    if let generation { return try generation.read(checks: !reusingSnapshot, body) }
    if let transaction = scopedTransaction.current {
      let result = try body(transaction.reading)
      try transaction.connection.checkSentinel()
      return result
    }
    guard externals != nil else {
      return try pool.withReader(reusingSnapshot: reusingSnapshot) { try body(ReadTransaction(connection: $0)) }
    }
    // A value's file may be replaced while a condition reads it. A new snapshot refers to the new file.
    for _ in 0..<3 {
      do {
        return try pool.withReader(reusingSnapshot: reusingSnapshot) { try body(ReadTransaction(connection: $0)) }
      } catch let error as StoreAccessError where error.kind == .externalDataMissing {
        continue
      }
    }
    return try pool.withReader { try body(ReadTransaction(connection: $0)) }
  }

  /// The transaction over several requests that the caller is in, if any.
  @inline(__always) var currentTransaction: ReadTransaction? { scopedTransaction.current?.reading }
  @inline(__always) var currentWrite: WriteTransaction? { scopedTransaction.current }

  /// Begins a write transaction; inside ``transaction(_:)``, a nested one that can fail on its own. The caller must commit it or roll it
  /// back.
  func begin(_ purpose: consuming WriteTransaction.Purpose = .init()) throws -> WriteTransaction {
    purpose.excludedComponents = sideTables.excluded
    let transaction: WriteTransaction
    if let outer = scopedTransaction.current {
      transaction = try .begin(partOf: outer, participants, purpose)
    } else {
      let pool = try pool
      transaction = try .begin(on: try pool.takeWriter(), participants, purpose, from: pool)
    }
    try sideTables.begin(transaction)
    return transaction
  }

  /// Runs a request that writes objects. If the tables of a component are damaged, runs it again without the component. A migration runs
  /// again as a whole.
  func withoutDamage<Result>(_ body: () throws -> Result) throws -> Result {
    guard connections == nil else { return try sideTables.withoutDamage(body) }
    do { return try body() } catch let failure as SideTableFailure {
      stage?.failure = failure
      throw failure
    }
  }

  /// Runs `body` in a write transaction, or in a nested one, see ``begin(_:)``.
  func write<Result>(_ purpose: WriteTransaction.Purpose = .init(), _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try begin(purpose).run(body)
  }

  /// Runs a write that replaces side tables. If their pages are damaged, runs it again, to rename the tables instead of dropping them.
  func replacingSideTables(_ body: (WriteTransaction, _ keepsPages: Bool) throws -> Void) throws {
    do { try write { try body($0, false) } } catch {
      let isDamage = error is SideTableFailure || (error as? StoreAccessError)?.isDamageOfTables ?? false
      guard isDamage, scopedTransaction.current == nil else { throw error }
      try write { try body($0, true) }
    }
  }

  /// Runs `body` in one transaction. Each of its requests is a nested transaction.
  func transaction(_ body: () throws -> Void) throws {
    try write(.init(spansRequests: true)) { transaction in try scopedTransaction.run(transaction, body) }
  }

  /// Asks the observers of the transaction whose body the caller is running in whether it can be committed.
  func askObserversOfTransaction() throws { try scopedTransaction.current?.observation?.willCommit() }

  /// Runs `body` with its requests nested in a transaction that the caller began and will end.
  func join<Result>(_ transaction: WriteTransaction, _ body: () throws -> Result) rethrows -> Result {
    let joined = WriteTransaction.joining(transaction)
    joined.keep(keys)
    return try scopedTransaction.run(joined, body)
  }

  // MARK: Keys

  /// Returns keys for new rows of a table. In a transaction over several requests, reservations are not shared before its commit.
  func newKeys(_ count: Int, for table: EntityTable) throws -> [Int64] {
    let keys = scopedTransaction.current?.keys ?? keys
    var result = Array(keys.take(count, for: table))
    while result.count < count {
      // No lock is held here, since waiting for the writer can take time. Two threads that reserve at once lose the rest of one block at
      // most.
      let needed = count - result.count
      let block = try withoutDamage {
        try write { transaction in
          trace.record(transaction.connection, "reserve keys")
          return try keys.reserve(needed, for: table, transaction)
        }
      }
      keys.begin(block, of: table)
      result += keys.take(needed, for: table)
    }
    return result
  }

  /// Discards the reserved keys that are not allocated yet.
  func forgetKeys() {
    scopedTransaction.current?.keys?.forget()
    keys.forget()
  }

  /// Reserves as many keys as another store allocated, starting from 1, without a list of them.
  ///
  /// - Returns: The offset to add to each key of the other store.
  func reserveKeys(upTo maximum: Int64, for table: EntityTable) throws -> Int64 {
    guard maximum > 0 else { return 0 }
    let (keys, count) = (scopedTransaction.current?.keys ?? keys, Int(maximum))
    // The unused keys of the previous block are lost; they are below the new one.
    keys.begin(try withoutDamage { try write { try keys.reserve(count, for: table, $0) } }, of: table)
    return keys.take(count, for: table).lowerBound - 1
  }
}

/// The numbers of rows of tables, up to a limit, as of a few commits ago. This is accurate enough to choose a plan.
final class TableSizes: Sendable {
  private struct Entry {
    let size: Int
    let commits: Int
  }
  /// The number of commits after which a size is counted again.
  private static let maximumAge = 32
  private let entries = Mutex<[Int: Entry]>([:])
  private let commits = Atomic<Int>(0)

  /// Records a commit, which ages all sizes.
  func recordCommit() { commits.add(1, ordering: .relaxed) }

  /// Returns the size of a table, and counts it if it is missing or too old.
  func size(of table: Int, count: () throws -> Int) rethrows -> Int {
    let commits = commits.load(ordering: .relaxed)
    if let entry = entries.withLock({ $0[table] }), commits - entry.commits < Self.maximumAge { return entry.size }
    let size = try count()
    entries.withLock { $0[table] = Entry(size: size, commits: commits) }
    return size
  }
}
