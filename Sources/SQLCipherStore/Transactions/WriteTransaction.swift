// ReadTransaction, WriteTransaction: the transactions of a store as values: who has one can read, or write; who has none cannot.
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// A snapshot of a store: on a connection of its own, or inside a write transaction. It is good as long as the call that it was handed to.
struct ReadTransaction {
  let connection: Connection

  /// A prepared statement for a text, as ``Connection/statement(sql:)`` keeps it.
  func statement(sql: String) throws(StoreAccessError) -> Statement { try connection.statement(sql: sql) }

  /// Runs `body`, whose statements end with an error once they are called off: those, and nobody else's.
  func whileWanted<Result>(_ cancellation: RequestCancellation?, _ body: () throws -> Result) rethrows -> Result {
    guard let cancellation else { return try body() }
    return try connection.cancelling(when: { cancellation.isCancelled }, body)
  }
}

/// A write transaction of a store, or a part of one that can fail alone.
///
/// It ends with ``commit()`` or ``rollBack()``. Who takes part in it is listed in `TransactionParticipants.swift`.
final class WriteTransaction {
  /// What a transaction is begun for.
  struct Purpose {
    /// The save that it writes; nil for anything else.
    var request: SaveChangesRequest?
    /// What calls it off, as long as it is not being committed.
    var cancellation: RequestCancellation?
    /// The time that is written where a value is the time of the save.
    var now: Double?
    /// The IDs of whoever asks, which errors name objects by; nil where nobody's objects are written.
    var objectIDSpace: ObjectIDSpace?
    /// Whether it is held over several requests, each of which is a part of it.
    var holdsRequests = false
  }

  let connection: Connection
  let purpose: Purpose
  /// What this is a part of; it begins and ends with a savepoint then.
  let outer: WriteTransaction?
  /// What was written beside what was asked for.
  var outcome = SaveOutcome()
  let participants: [any TransactionParticipant]
  /// What participants keep in it.
  private var states: [AnyObject] = []
  /// Gets the connection back.
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
  }

  var isPart: Bool { outer != nil }
  /// The transaction for what only reads.
  var reading: ReadTransaction { ReadTransaction(connection: connection) }

  // MARK: Beginning

  /// Begins a transaction; the writer's lock is taken at once.
  ///
  /// - Parameter pool: Gets the connection back when it ends; nil where the caller sees to that.
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

  /// Begins a part of a transaction.
  static func begin(
    partOf outer: WriteTransaction, _ participants: [any TransactionParticipant], _ purpose: Purpose = Purpose()
  ) throws -> WriteTransaction {
    try outer.checkAlive()
    try outer.connection.beginSavepoint()
    return WriteTransaction(outer.connection, participants, purpose, outer: outer)
  }

  /// A transaction that others end, for who keeps something of his own in it: a step of a migration, whose requests are parts of it.
  static func joining(_ other: WriteTransaction) -> WriteTransaction {
    WriteTransaction(other.connection, [], Purpose(holdsRequests: true), outer: other)
  }

  /// Runs `body` as a transaction on a connection that is the caller's.
  static func run<Result>(
    on connection: Connection, _ participants: [any TransactionParticipant], _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    try begin(on: connection, participants).run(body)
  }

  /// Runs `body` and commits; rolls back if either fails.
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

  // MARK: Under way

  /// Keeps something in the transaction, for its parts too, until it ends.
  func keep(_ state: some AnyObject) { states.append(state) }

  /// What is kept of a type; what a part keeps of its own comes first. Ask once for many rows.
  func kept<State: AnyObject>(_ type: State.Type = State.self) -> State? {
    for state in states { if let state = state as? State { return state } }
    return outer?.kept()
  }

  /// Runs `body`, whose statements end with an error once the transaction is called off.
  func whileWanted<Result>(_ body: () throws -> Result) rethrows -> Result {
    try reading.whileWanted(purpose.cancellation, body)
  }

  /// A statement that was called off, or a full disk, may have rolled the whole transaction back: what came after it would be written by itself.
  func checkAlive() throws {
    guard isOver || connection.isInAutocommit else { return }
    throw StoreError(.misuse(.transactionRolledBack), operation: .transaction, path: connection.path)
  }

  // MARK: The end

  /// Makes everything durable, or, of a part, leaves it to the transaction. Where it throws nothing is decided yet: roll back.
  func commit() throws {
    if purpose.holdsRequests { try checkAlive() }
    for participant in participants { try participant.willCommit(self) }
    if isPart { try connection.releaseSavepoint() } else { try connection.commitWrite() }
    for participant in participants { participant.didCommit(self) }
    end()
  }

  /// Takes everything back. Does nothing after the end.
  func rollBack() {
    if isOver { return }
    if isPart { connection.rollBackToSavepoint() } else { connection.abandonTransaction() }
    for participant in participants { participant.didRollBack(self) }
    end()
  }

  private func end() {
    isOver = true
    states = []
    pool?.giveBackWriter(connection)
  }
}
