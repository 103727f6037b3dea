// PersistentStoreCoordinator+History: the histories of open stores: what was written after a place, the present place, deletion.
import Foundation
import ObjectModel
import ObjectQuery

/// An open store that keeps a history.
struct OpenHistory {
  let store: PersistentStore
  let history: any HistoryStore
  let ids: HistoryIDs

  /// Reads what is wanted.
  func reader(
    _ query: HistoryQuery, wantsChanges: Bool = true, isWanted: ((PersistentHistoryChange) throws -> Bool)? = nil
  ) -> HistoryReader {
    HistoryReader(
      history, identifier: store.identifier, space: store.space, ids: ids, query, wantsChanges: wantsChanges, isWanted: isWanted)
  }

  /// The number behind which a token's transactions come; 0 for the whole history.
  ///
  /// - Throws: ``StoreError``, with `historyTokenExpired` or `historyTokenUnknown` where the token's transaction is none of the history.
  func number(after token: PersistentHistoryToken?) throws -> Int64 {
    guard let position = token?.positions[store.identifier] else { return 0 }
    return try number(at: position)
  }

  /// The number of a transaction that a place stands for, which has to be there.
  func number(at position: HistoryPosition) throws -> Int64 {
    if let known = try history.historyPosition(of: position.number) {
      guard known.mark == position.mark else { throw StoreError(.historyTokenUnknown, operation: .readHistory, path: store.url?.path) }
      return position.number
    }
    let extent = try history.historyExtent()
    guard let extent, position.number < extent.oldest.number else {
      throw StoreError(.historyTokenUnknown, operation: .readHistory, path: store.url?.path)
    }
    throw StoreError(
      .historyExpired(oldest: PersistentHistoryToken(extent.oldest, of: store.identifier).description), operation: .readHistory,
      path: store.url?.path)
  }
}

extension PersistentStore {
  /// Whether the store keeps a history, and how much of each change; nil where it keeps none.
  ///
  /// - Throws: ``StoreError`` where the store is closed or cannot be read.
  public var historyLevel: HistoryLevel? {
    get throws { try (incrementalStore as? any HistoryStore)?.historySettings()?.level }
  }

  /// The store's history.
  ///
  /// - Throws: ``StoreError`` with `unsupported` for a kind of store that keeps none, with `historyNotTracked` for a store that keeps none.
  func openHistory(_ operation: StoreOperation) throws -> OpenHistory {
    guard let history = incrementalStore as? any HistoryStore else {
      throw StoreError(.historyUnsupported(type: type.rawValue), operation: operation, path: url?.path)
    }
    guard let ids = try history.historyIDs() else { throw StoreError(.historyOff, operation: operation, path: url?.path) }
    return OpenHistory(store: self, history: history, ids: ids)
  }
}

extension PersistentStoreCoordinator {
  /// The place behind what was written last, for stores that keep a history; nil where none does, or nothing was written yet.
  ///
  /// - Parameter stores: The stores that are meant; nil for all.
  /// - Throws: ``StoreError`` where a history cannot be read.
  public func currentPersistentHistoryToken(fromStores stores: [PersistentStore]? = nil) throws -> PersistentHistoryToken? {
    var positions: [String: HistoryPosition] = [:]
    for store in stores ?? persistentStores {
      guard let history = store.incrementalStore as? any HistoryStore, let extent = try history.historyExtent() else { continue }
      positions[store.identifier] = extent.newest
    }
    return positions.isEmpty ? nil : PersistentHistoryToken(positions)
  }

  /// Answers a request for what the histories of stores have, or deletes from them. It blocks as a fetch does.
  ///
  /// - Throws: ``StoreError``: with the codes `historyNotTracked` where none of the stores that are asked keeps a history, `historyTokenExpired` where something behind
  ///   the place was deleted, `historyTokenUnknown` where the place is none of the history, `historyTokenOfOtherStore`, and of a deletion `historyConsumerBehind`;
  ///   ``FetchPredicateError`` for a condition that names what transactions and changes do not have.
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

  /// The stores that keep a history, or those of them that are named or that a token is of.
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
        // A store that is named, by itself or by a token, is meant.
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
      var reader = history.reader(query, wantsChanges: collector.wantsChanges, isWanted: filter.acceptsChange)
      var isWanted = false
      while !collector.isFull, let piece = try reader.next() {
        try cancellation?.check(.readHistory)
        if piece.isFirst { isWanted = try filter.accepts(piece.transaction) }
        if isWanted { collector.add(piece) } else { collector.pass(piece) }
      }
    }
    return collector.result
  }

  // MARK: Deleting

  /// How many rows of a history are deleted in one transaction.
  static let historyPortion = 500

  private func delete(
    from history: OpenHistory, before place: PersistentHistoryChangeRequest.Place, forces: Bool, _ cancellation: RequestCancellation?
  ) throws {
    try checkWritable([history.store], .deleteHistory)
    try cancellation?.check(.deleteHistory)
    guard let extent = try history.history.historyExtent() else { return }
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
    while try history.history.deleteHistory(before: number, rowLimit: Self.historyPortion) { try cancellation?.check(.deleteHistory) }
  }

  /// Whether a consumer has something to read before a transaction.
  private func isBehind(_ consumer: HistoryConsumerRecord, _ number: Int64, _ history: OpenHistory) throws -> Bool {
    var query = HistoryQuery()
    query.after = consumer.position?.number ?? 0
    query.upTo = number - 1
    query.omitsBeginning = true
    return try !history.history.historyEntries(query, byteLimit: 1).isEmpty
  }
}

extension PersistentHistoryChangeRequest.Action {
  /// The token that it names a place by.
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
