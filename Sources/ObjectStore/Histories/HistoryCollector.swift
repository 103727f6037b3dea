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
  private var open: (transaction: PersistentHistoryTransaction, isIncluded: Bool)?

  init(_ type: PersistentHistoryResultType, limit: Int, isFiltered: Bool) {
    result = PersistentHistoryResult(type)
    self.limit = limit
    self.isFiltered = isFiltered
  }

  var includesChanges: Bool { isFiltered || !(result.resultType == .transactionsOnly || result.resultType == .statusOnly) }
  var isFull: Bool { limit > 0 && transactionCount >= limit && open == nil }

  /// Skips a piece of a transaction that does not match.
  mutating func pass(_ fragment: HistoryFragment) { if fragment.isLast { record(fragment) } }

  mutating func add(_ fragment: HistoryFragment) {
    if fragment.isFirst {
      var transaction = fragment.transaction
      if result.resultType == .transactionsAndChanges { transaction.changes = [] }
      open = (transaction, !isFiltered)
    }
    guard var (transaction, isIncluded) = open else { return }
    isIncluded = isIncluded || !fragment.changes.isEmpty
    transaction.skippedChangeCount = fragment.transaction.skippedChangeCount
    switch result.resultType {
    case .transactionsAndChanges: transaction.changes?.append(contentsOf: fragment.changes)
    case .changesOnly: result.changes += fragment.changes
    case .objectIDs:
      for change in fragment.changes where seen.insert(change.changedObjectID).inserted { result.objectIDs.append(change.changedObjectID) }
    case .count, .transactionsOnly, .statusOnly: break
    }
    if includesChanges { result.count += fragment.changes.count }
    guard fragment.isLast else {
      open = (transaction, isIncluded)
      return
    }
    open = nil
    record(fragment)
    guard isIncluded else { return }
    transactionCount += 1
    if result.resultType == .transactionsAndChanges || result.resultType == .transactionsOnly { result.transactions.append(transaction) }
  }

  private mutating func record(_ fragment: HistoryFragment) {
    let token = fragment.transaction.token
    result.lastToken = result.lastToken.map { $0.merging(token) } ?? token
  }
}
