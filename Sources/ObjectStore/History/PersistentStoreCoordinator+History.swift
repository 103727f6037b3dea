import Foundation
import ObjectModel
import ObjectQuery

/// An open store that keeps a history.
struct OpenHistory {
  let store: PersistentStore
  let history: any HistoryStore
  let ids: HistoryIDs

  func reader(
    _ query: HistoryQuery, includesChanges: Bool = true, isIncluded: ((PersistentHistoryChange) throws -> Bool)? = nil
  ) -> HistoryReader {
    HistoryReader(
      history, identifier: store.identifier, space: store.space, ids: ids, query, includesChanges: includesChanges, isIncluded: isIncluded)
  }

  /// Returns the number of a token's transaction, or 0 if the token does not concern the store.
  ///
  /// - Throws: ``StoreError``, with `historyTokenExpired` or `historyTokenUnknown` if the transaction is not in the history.
  func number(after token: PersistentHistoryToken?) throws -> Int64 {
    guard let position = token?.positions[store.identifier] else { return 0 }
    return try number(at: position)
  }

  /// Returns the number of the transaction at a position, or throws if it is not in the history.
  func number(at position: HistoryPosition) throws -> Int64 {
    if let known = try history.historyPosition(of: position.number) {
      guard known.mark == position.mark else { throw StoreError(.historyTokenUnknown, operation: .readHistory, path: store.url?.path) }
      return position.number
    }
    let extent = try history.historyBounds()
    guard let extent, position.number < extent.oldest.number else {
      throw StoreError(.historyTokenUnknown, operation: .readHistory, path: store.url?.path)
    }
    throw StoreError(
      .historyExpired(oldest: PersistentHistoryToken(extent.oldest, of: store.identifier).description), operation: .readHistory,
      path: store.url?.path)
  }
}

extension PersistentStore {
  /// The level of detail of the store's history, or nil if the store keeps none.
  ///
  /// - Throws: ``StoreError`` if the store is closed or cannot be read.
  public var historyLevel: HistoryLevel? {
    get throws { try (incrementalStore as? any HistoryStore)?.historySettings()?.level }
  }

  /// Returns the history of the store.
  ///
  /// - Throws: ``StoreError`` with `unsupported` if stores of this type keep no history, with `historyNotTracked` if this store keeps none.
  func openHistory(_ operation: StoreOperation) throws -> OpenHistory {
    guard let history = incrementalStore as? any HistoryStore else {
      throw StoreError(.historyUnsupported(type: type.rawValue), operation: operation, path: url?.path)
    }
    guard let ids = try history.historyIDs() else { throw StoreError(.historyOff, operation: operation, path: url?.path) }
    return OpenHistory(store: self, history: history, ids: ids)
  }
}

extension PersistentStoreCoordinator {
  /// Returns the token after the last transactions of stores that keep a history, or nil if there is no transaction.
  ///
  /// - Parameter stores: The stores, or nil for all.
  /// - Throws: ``StoreError`` if a history cannot be read.
  public func currentPersistentHistoryToken(fromStores stores: [PersistentStore]? = nil) throws -> PersistentHistoryToken? {
    var positions: [String: HistoryPosition] = [:]
    for store in stores ?? persistentStores {
      guard let history = store.incrementalStore as? any HistoryStore, let extent = try history.historyBounds() else { continue }
      positions[store.identifier] = extent.newest
    }
    return positions.isEmpty ? nil : PersistentHistoryToken(positions)
  }

  /// Executes a history request. Blocks the current thread, as a fetch does.
  ///
  /// - Throws: ``StoreError`` with the codes `historyNotTracked` if none of the requested stores keeps a history, `historyTokenExpired` if
  ///   transactions after the token were purged, `historyTokenUnknown` if the token is not in the history, `historyTokenOfOtherStore`, and
  ///   for a deletion `historyConsumerBehind`; ``FetchPredicateError`` if a predicate uses a name that transactions or changes do not have.
  public func execute(_ request: PersistentHistoryChangeRequest) throws -> PersistentHistoryResult {
    try execute(request, cancellation: nil)
  }

  /// Executes a request unless it is canceled. A canceled deletion has deleted the oldest transactions, in batches, or nothing.
  package func execute(
    _ request: PersistentHistoryChangeRequest, cancellation: RequestCancellation?
  ) throws -> PersistentHistoryResult {
    let histories = try histories(of: request)
    switch request.action {
    case .fetch(let place): return try fetch(request, after: place, from: histories, cancellation)
    case .delete(let place):
      for history in histories { try delete(from: history, before: place, forces: request.forcesDeletion, cancellation) }
      return PersistentHistoryResult(request.resultType)
    }
  }

  private func histories(of request: PersistentHistoryChangeRequest) throws -> [OpenHistory] {
    let operation: StoreOperation = if case .fetch = request.action { .readHistory } else { .deleteHistory }
    return try histories(affectedStores: request.affectedStores, token: request.action.token, operation)
  }

  /// Returns the histories of the open stores that keep one, or of the stores that are named explicitly or by a token.
  func histories(affectedStores: [String]?, token: PersistentHistoryToken?, _ operation: StoreOperation) throws -> [OpenHistory] {
    try checkOpen(operation)
    if let missing = affectedStores?.first(where: { name in !persistentStores.contains { $0.identifier == name } }) {
      throw StoreError(.namedStoreNotOpen(missing), operation: operation)
    }
    let stores = persistentStores.filter { affectedStores?.contains($0.identifier) ?? true }
    if let token, !stores.contains(where: { token.positions[$0.identifier] != nil }) {
      throw StoreError(.historyTokenOfOtherStore(known: token.storeIdentifiers), operation: operation)
    }
    var found: [OpenHistory] = []
    var failure: (any Error)?
    for store in stores {
      do { found.append(try store.openHistory(operation)) } catch let error as StoreError
        where error.code == .historyNotTracked || error.code == .unsupported
      {
        // For a store that is named explicitly or by a token, a missing history is an error.
        if affectedStores != nil || token?.positions[store.identifier] != nil { throw error }
        failure = failure ?? error
      }
    }
    if found.isEmpty, let failure { throw failure }
    return found
  }

  // MARK: Fetching

  private func fetch(
    _ request: PersistentHistoryChangeRequest, after place: PersistentHistoryChangeRequest.Place, from histories: [OpenHistory],
    _ cancellation: RequestCancellation?
  ) throws -> PersistentHistoryResult {
    if request.fetchLimit < 0 { throw FetchPredicateError.negativeNumber(clause: .fetchLimit) }
    let filter = try HistoryFilter(transactions: request.transactionPredicate, changes: request.changePredicate)
    var collector = HistoryCollector(request.resultType, limit: request.fetchLimit, isFiltered: request.changePredicate != nil)
    for history in histories {
      try cancellation?.check(.readHistory)
      var query = HistoryQuery()
      filter.narrow(&query)
      switch place {
      case .token(let token): query.after = max(query.after, try history.number(after: token))
      case .date(let date): query.since = max(query.since ?? -.infinity, date.timeIntervalSinceReferenceDate)
      case .transaction(let transaction):
        guard let position = transaction.token.positions[history.store.identifier] else { continue }
        query.after = max(query.after, try history.number(at: position))
      }
      var reader = history.reader(query, includesChanges: collector.includesChanges, isIncluded: filter.acceptsChange)
      var isIncluded = false
      while !collector.isFull, let fragment = try reader.next() {
        try cancellation?.check(.readHistory)
        if fragment.isFirst { isIncluded = try filter.accepts(fragment.transaction) }
        if isIncluded { collector.add(fragment) } else { collector.pass(fragment) }
      }
    }
    return collector.result
  }

  // MARK: Deleting

  /// The maximum number of history rows that are deleted in one transaction.
  static let historyBatchSize = 500

  private func delete(
    from history: OpenHistory, before place: PersistentHistoryChangeRequest.Place, forces: Bool, _ cancellation: RequestCancellation?
  ) throws {
    try checkWritable([history.store], .deleteHistory)
    try cancellation?.check(.deleteHistory)
    guard let extent = try history.history.historyBounds() else { return }
    let number: Int64
    switch place {
    case .token(nil): number = extent.newest.number
    case .token(let token?):
      guard let position = token.positions[history.store.identifier] else { return }
      number = try history.number(at: position)
    case .transaction(let transaction):
      guard let position = transaction.token.positions[history.store.identifier] else { return }
      number = try history.number(at: position)
    case .date(let date):
      var query = HistoryQuery()
      query.since = date.timeIntervalSinceReferenceDate
      query.omitsBeginning = true
      number = try history.history.historyEntries(query, byteLimit: 1).first?.transaction ?? extent.newest.number
    }
    if !forces {
      let behind = try history.history.historyConsumers().filter { try isBehind($0, number, history) }
      if !behind.isEmpty {
        throw StoreError(.historyConsumersBehind(behind.map(\.name)), operation: .deleteHistory, path: history.store.url?.path)
      }
    }
    while try history.history.deleteHistory(before: number, rowLimit: Self.historyBatchSize) { try cancellation?.check(.deleteHistory) }
  }

  /// Returns whether a consumer has not read all transactions before the given one.
  private func isBehind(_ consumer: HistoryConsumerRecord, _ number: Int64, _ history: OpenHistory) throws -> Bool {
    var query = HistoryQuery()
    query.after = consumer.position?.number ?? 0
    query.upTo = number - 1
    query.omitsBeginning = true
    return try !history.history.historyEntries(query, byteLimit: 1).isEmpty
  }
}

extension PersistentHistoryChangeRequest.Action {
  var token: PersistentHistoryToken? {
    switch self {
    case .fetch(let place), .delete(let place):
      switch place {
      case .token(let token): token
      case .transaction(let transaction): transaction.token
      case .date: nil
      }
    }
  }
}
