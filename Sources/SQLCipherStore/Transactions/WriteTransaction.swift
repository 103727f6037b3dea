import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// A snapshot of a store, on its own connection or inside a write transaction. It is valid during the call that received it.
struct ReadTransaction {
  let connection: Connection

  /// Returns the prepared statement for a text, cached by ``Connection/statement(sql:)``.
  func statement(sql: String) throws(StoreAccessError) -> Statement { try connection.statement(sql: sql) }

  /// Runs `body`. After cancellation, its statements end with an error; other statements on the connection are not affected.
  func withCancellation<Result>(_ cancellation: RequestCancellation?, _ body: () throws -> Result) rethrows -> Result {
    guard let cancellation else { return try body() }
    return try connection.cancelling(when: { cancellation.isCancelled }, body)
  }
}

/// A write transaction of a store, or a nested transaction that can fail on its own.
///
/// It ends with ``commit()`` or ``rollBack()``. `TransactionParticipants.swift` lists its participants.
final class WriteTransaction {
  /// The context in which a transaction begins.
  struct Purpose {
    /// The save that the transaction writes, or `nil` for other operations.
    var request: SaveChangesRequest?
    /// The cancellation of the request. It has no effect on the commit itself.
    var cancellation: RequestCancellation?
    /// The time that is stored for values defined as the time of the save.
    var now: Double?
    /// The ID space of the caller, by which errors identify objects, or `nil` if no objects of a caller are written.
    var objectIDSpace: ObjectIDSpace?
    /// Whether the transaction spans several requests, each of them a nested transaction.
    var spansRequests = false
    /// The components whose tables are damaged, so that the transaction does not use them.
    var excludedComponents: Set<String> = []
  }

  let connection: Connection
  let purpose: Purpose
  /// The enclosing transaction. If there is one, this transaction is a savepoint, unless it gave that up.
  let outer: WriteTransaction?
  private var hasSavepoint: Bool
  /// The components of the metadata as they were last decoded for a request of this transaction.
  var decodedSideTables: MetadataTable.DecodedSideTables?
  /// What was written in addition to the request.
  var outcome = SaveOutcome()
  let participants: [any TransactionParticipant]
  /// State that participants store in the transaction.
  private var states: [AnyObject] = []
  private var ownChanges: ChangeStream?
  private var ownObservation: TransactionObservation?
  /// The pool that the connection is returned to.
  private let pool: ConnectionPool?
  private var isOver = false

  private init(
    _ connection: Connection, _ participants: [any TransactionParticipant], _ purpose: consuming Purpose, pool: ConnectionPool? = nil,
    outer: WriteTransaction? = nil
  ) {
    self.connection = connection
    self.participants = participants
    self.purpose = purpose
    self.pool = pool
    self.outer = outer
    hasSavepoint = outer != nil
  }

  var isPart: Bool { outer != nil }
  /// The read-only view of the transaction.
  var reading: ReadTransaction { ReadTransaction(connection: connection) }

  // MARK: Beginning

  /// Begins a transaction and takes the write lock immediately.
  ///
  /// - Parameter pool: The pool that the connection is returned to at the end, or `nil` if the caller returns it.
  static func begin(
    on connection: Connection, _ participants: [any TransactionParticipant], _ purpose: consuming Purpose = Purpose(),
    from pool: ConnectionPool? = nil
  ) throws -> WriteTransaction {
    let transaction = WriteTransaction(connection, participants, purpose, pool: pool)
    do {
      try connection.beginWrite()
      for participant in participants { try participant.didBegin(transaction) }
      return transaction
    } catch {
      transaction.rollBack()
      throw error
    }
  }

  static func begin(
    partOf outer: WriteTransaction, _ participants: [any TransactionParticipant], _ purpose: Purpose = Purpose()
  ) throws -> WriteTransaction {
    try outer.checkIsActive()
    try outer.connection.beginSavepoint()
    let transaction = WriteTransaction(outer.connection, participants, purpose, outer: outer)
    for participant in participants { participant.didBeginPart(transaction) }
    return transaction
  }

  /// Returns a transaction that others end, with state of its own: a step of a migration, whose requests are nested transactions.
  static func joining(_ other: WriteTransaction) -> WriteTransaction {
    WriteTransaction(other.connection, [], Purpose(spansRequests: true), outer: other)
  }

  /// Runs `body` as a transaction on the caller's connection.
  ///
  /// - Parameter excluded: The components whose tables are damaged. The metadata record that the tables lack the transaction's changes.
  static func run<Result>(
    on connection: Connection, _ participants: [any TransactionParticipant], excluding excluded: Set<String> = [],
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    try begin(on: connection, participants, Purpose(excludedComponents: excluded)).run { transaction in
      if !excluded.isEmpty { try SideTableList(connection: connection, path: connection.path).markDamaged(excluded) }
      return try body(transaction)
    }
  }

  /// Runs `body` and commits. Rolls back if either throws.
  func run<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result {
    do {
      let result = try body(self)
      try commit()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  // MARK: State

  /// Stores an object in the transaction until it ends. Nested transactions see it too.
  func keep(_ state: some AnyObject) { states.append(state) }

  /// Returns the stored object of a type. A nested transaction's own object takes precedence over that of the enclosing one. Callers that
  /// process many rows should look it up once.
  func kept<State: AnyObject>(_ type: State.Type = State.self) -> State? {
    for state in states { if let state = state as? State { return state } }
    return outer?.kept()
  }

  /// The stream of the changes of the current request, or `nil` if nothing consumes them.
  var changes: ChangeStream? {
    get { ownChanges ?? outer?.changes }
    set { ownChanges = newValue }
  }

  /// The observation of the whole transaction by the application, or `nil` if there are no observers.
  var observation: TransactionObservation? {
    get { outer.map(\.observation) ?? ownObservation }
    set { ownObservation = newValue }
  }

  /// Returns whether the transaction, or an enclosing one, does not use a component's tables because they are damaged.
  func excludes(_ component: String) -> Bool { purpose.excludedComponents.contains(component) || outer?.excludes(component) ?? false }

  /// Runs `body`. After cancellation of the transaction, its statements end with an error.
  func withCancellation<Result>(_ body: () throws -> Result) rethrows -> Result {
    try reading.withCancellation(purpose.cancellation, body)
  }

  /// Throws if the transaction is no longer active. A canceled statement or a full disk may have rolled it back; later statements would
  /// then be committed on their own.
  func checkIsActive() throws {
    guard isOver || connection.isInAutocommit else { return }
    throw StoreError(.transactionRolledBack, operation: .transaction, path: connection.path)
  }

  // MARK: Completion

  /// Prepares a nested transaction, before its first change, to write any amount. SQLite keeps the former content of each page that is written
  /// after a savepoint, in memory. Without a savepoint, an error rolls back the enclosing transaction too, like that of a full disk.
  func giveUpSavepoint() throws {
    // The transaction of a migration consists of more than requests.
    guard hasSavepoint, let outer, outer.outer == nil else { return }
    try connection.releaseSavepoint()
    hasSavepoint = false
  }

  /// Makes all changes durable; a nested transaction's changes become part of the enclosing one. If it throws, nothing is committed, and
  /// the caller must roll back.
  func commit() throws {
    if purpose.spansRequests { try checkIsActive() }
    for participant in participants { try participant.willCommit(self) }
    if hasSavepoint { try connection.releaseSavepoint() } else if !isPart { try connection.commitWrite() }
    for participant in participants { participant.didCommit(self) }
    end()
  }

  /// Undoes all changes. Has no effect after the end of the transaction.
  func rollBack() {
    if isOver { return }
    if hasSavepoint { connection.rollBackToSavepoint() } else { connection.abandonTransaction() }
    for participant in participants { participant.didRollBack(self) }
    end()
  }

  private func end() {
    isOver = true
    states = []
    (ownChanges, ownObservation) = (nil, nil)
    pool?.returnWriter(connection)
  }
}

/// A participant in every write transaction of a store. `TransactionParticipants.swift` lists the participants.
///
/// A nested transaction (``WriteTransaction/isPart``) is committed and rolled back like an outer one. If the outer transaction is rolled
/// back, its committed nested transactions are too.
///
/// The protocol requires a class, so that copying a participant costs one retain: each transaction iterates over the list three times.
protocol TransactionParticipant: AnyObject, Sendable {
  /// Called when the write lock is held and nothing has been read yet. Not called for nested transactions.
  func didBegin(_ transaction: WriteTransaction) throws
  /// Called when a nested transaction begins.
  func didBeginPart(_ transaction: WriteTransaction)
  /// Called when all statements of the transaction, or nested transaction, have run. An error rolls it back.
  func willCommit(_ transaction: WriteTransaction) throws
  /// Called after the commit. The transaction still has its connection.
  func didCommit(_ transaction: WriteTransaction)
  /// Called after a rollback at any point. The transaction still has its connection.
  func didRollBack(_ transaction: WriteTransaction)
}

extension TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws {}
  func didBeginPart(_ transaction: WriteTransaction) {}
  func willCommit(_ transaction: WriteTransaction) throws {}
  func didCommit(_ transaction: WriteTransaction) {}
  func didRollBack(_ transaction: WriteTransaction) {}
}
