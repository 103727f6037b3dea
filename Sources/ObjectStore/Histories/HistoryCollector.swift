import ObjectModel

/// Collects the result of a history request.
struct HistoryCollector {
  private(set) var result: PersistentHistoryResult
  private let limit: Int
  /// Whether transactions without matching changes are omitted.
  private let isFiltered: Bool
  private var seen: Set<ManagedObjectID> = []
  private var transactionCount = 0
  /// The current transaction with its changes so far, and whether it is included.
  private var open: (transaction: PersistentHistoryTransaction, isWanted: Bool)?

  init(_ type: PersistentHistoryResultType, limit: Int, isFiltered: Bool) {
    result = PersistentHistoryResult(type)
    self.limit = limit
    self.isFiltered = isFiltered
  }

  var wantsChanges: Bool { isFiltered || !(result.resultType == .transactionsOnly || result.resultType == .statusOnly) }
  var isFull: Bool { limit > 0 && transactionCount >= limit && open == nil }

  /// Skips a piece of a transaction that does not match.
  mutating func pass(_ piece: HistoryPiece) { if piece.isLast { note(piece) } }

  mutating func add(_ piece: HistoryPiece) {
    if piece.isFirst {
      var transaction = piece.transaction
      if result.resultType == .transactionsAndChanges { transaction.changes = [] }
      open = (transaction, !isFiltered)
    }
    guard var (transaction, isWanted) = open else { return }
    isWanted = isWanted || !piece.changes.isEmpty
    transaction.skippedChangeCount = piece.transaction.skippedChangeCount
    switch result.resultType {
    case .transactionsAndChanges: transaction.changes?.append(contentsOf: piece.changes)
    case .changesOnly: result.changes += piece.changes
    case .objectIDs:
      for change in piece.changes where seen.insert(change.changedObjectID).inserted { result.objectIDs.append(change.changedObjectID) }
    case .count, .transactionsOnly, .statusOnly: break
    }
    if wantsChanges { result.count += piece.changes.count }
    guard piece.isLast else {
      open = (transaction, isWanted)
      return
    }
    open = nil
    note(piece)
    guard isWanted else { return }
    transactionCount += 1
    if result.resultType == .transactionsAndChanges || result.resultType == .transactionsOnly { result.transactions.append(transaction) }
  }

  private mutating func note(_ piece: HistoryPiece) {
    let token = piece.transaction.token
    result.lastToken = result.lastToken.map { $0.merging(token) } ?? token
  }
}
