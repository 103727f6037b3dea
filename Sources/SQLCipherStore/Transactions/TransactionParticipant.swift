/// A participant in every write transaction of a store. `TransactionParticipants.swift` lists the participants.
///
/// A nested transaction (``WriteTransaction/isPart``) is committed and rolled back like an outer one. If the outer transaction is rolled
/// back, its committed nested transactions are too.
///
/// The protocol requires a class, so that copying a participant costs one retain: each transaction iterates over the list three times.
protocol TransactionParticipant: AnyObject, Sendable {
  /// Called when the write lock is held and nothing has been read yet. Not called for nested transactions.
  func didBegin(_ transaction: WriteTransaction) throws
  /// Called when all statements of the transaction, or nested transaction, have run. An error rolls it back.
  func willCommit(_ transaction: WriteTransaction) throws
  /// Called after the commit. The transaction still has its connection.
  func didCommit(_ transaction: WriteTransaction)
  /// Called after a rollback at any point. The transaction still has its connection.
  func didRollBack(_ transaction: WriteTransaction)
}

extension TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws {}
  func willCommit(_ transaction: WriteTransaction) throws {}
  func didCommit(_ transaction: WriteTransaction) {}
  func didRollBack(_ transaction: WriteTransaction) {}
}
