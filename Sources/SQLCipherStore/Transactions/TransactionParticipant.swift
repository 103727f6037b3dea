// TransactionParticipant: what takes part in a write transaction, and at which moments. `TransactionParticipants.swift` lists the participants.

/// Takes part in every write transaction of a store.
///
/// A part of a transaction (``WriteTransaction/isPart``) is committed and rolled back like one; what it has committed goes with the whole.
///
/// A class, so that a copy of it is one reference: the list of participants is walked three times in each transaction.
protocol TransactionParticipant: AnyObject, Sendable {
  /// The writer's lock is held, and nothing was read yet. Not called for parts.
  func didBegin(_ transaction: WriteTransaction) throws
  /// All statements of the transaction, or part, have run. What throws here rolls it back.
  func willCommit(_ transaction: WriteTransaction) throws
  /// It is committed. The connection is still the transaction's.
  func didCommit(_ transaction: WriteTransaction)
  /// It was rolled back, at whatever point. The connection is still the transaction's.
  func didRollBack(_ transaction: WriteTransaction)
}

extension TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws {}
  func willCommit(_ transaction: WriteTransaction) throws {}
  func didCommit(_ transaction: WriteTransaction) {}
  func didRollBack(_ transaction: WriteTransaction) {}
}
