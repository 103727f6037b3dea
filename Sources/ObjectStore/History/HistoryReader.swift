import Foundation
package import ObjectModel
import ObjectQuery

/// A transaction, or a part of one that has too many changes for one piece.
package struct HistoryFragment: Sendable {
  package var transaction: PersistentHistoryTransaction
  /// The matching changes of the piece.
  package var changes: [PersistentHistoryChange]
  /// Whether the piece is the first of the transaction. `isLast` says whether it is the last.
  package var isFirst: Bool
  package var isLast: Bool
}

/// Reads the history of one store in bounded memory, from the oldest to the newest transaction.
///
/// Transactions are returned even if the filter removes all their changes.
package struct HistoryReader {
  /// The maximum number of changes in a piece.
  package static let fragmentSize = 1_000
  /// The number of bytes of records that are read at a time.
  private static let byteLimit = 1 << 16

  private let store: any HistoryStore
  private let identifier: String
  private let space: ObjectIDSpace
  private let ids: HistoryIDs
  private var query: HistoryQuery
  private let isIncluded: ((PersistentHistoryChange) throws -> Bool)?
  private let includesChanges: Bool

  private var entries: [HistoryEntry] = []
  private var position = 0
  private var isAtEnd = false
  private var header: PersistentHistoryTransaction?
  private var decoder: HistoryChangeDecoder
  private var lastOpening: (text: String, opening: HistoryOpening?)?
  private var hasStarted = false
  /// The number of a transaction whose rows are skipped, because the query excludes its first row.
  private var skippedTransaction: Int64?

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - includesChanges: Whether to decode changes.
  ///   - isIncluded: Returns whether to include a change, or nil to include all.
  package init(
    _ store: any HistoryStore, identifier: String, space: ObjectIDSpace, ids: HistoryIDs, _ query: HistoryQuery,
    includesChanges: Bool = true,
    isIncluded: ((PersistentHistoryChange) throws -> Bool)? = nil
  ) {
    self.store = store
    self.identifier = identifier
    self.space = space
    self.ids = ids
    self.query = query
    self.includesChanges = includesChanges
    self.isIncluded = isIncluded
    decoder = HistoryChangeDecoder(ids: ids, space: space)
  }

  /// Returns the next piece, or nil after the newest transaction.
  ///
  /// - Throws: ``StoreError``, with the code `storeCorrupt` if a row cannot be decoded, and with `historyTokenExpired` if the next rows
  ///   were purged in the meantime.
  package mutating func next() throws -> HistoryFragment? {
    var isFirst = false
    if header == nil {
      guard let entry = try firstEntry() else { return nil }
      // The first rows of this transaction were purged.
      guard entry.start == nil else { throw try expired() }
      hasStarted = true
      header = PersistentHistoryTransaction(entry, opening: opening(entry.authorship.opening), store: identifier, space: space.number)
      decoder.begin(transaction: entry.number)
      try take(entry)
      isFirst = true
    }
    guard var transaction = header else { return nil }
    var changes: [PersistentHistoryChange] = []
    while changes.count < Self.fragmentSize {
      if let change = try decoder.next() {
        if try isIncluded?(change) ?? true { changes.append(change) }
        continue
      }
      if let more = try entry(), more.start == transaction.transactionNumber {
        try take(more)
        continue
      }
      if let last = decoder.finish() {
        if try isIncluded?(last) ?? true { changes.append(last) }
      }
      (transaction.skippedChangeCount, transaction.schemaChanges) = (decoder.skipped, decoder.schemaChanges)
      header = nil
      return HistoryFragment(transaction: transaction, changes: changes, isFirst: isFirst, isLast: true)
    }
    (transaction.skippedChangeCount, transaction.schemaChanges) = (decoder.skipped, decoder.schemaChanges)
    return HistoryFragment(transaction: transaction, changes: changes, isFirst: isFirst, isLast: false)
  }

  /// Parses the text of an opening. Consecutive transactions often have the same, which is cached.
  private mutating func opening(_ text: String) -> HistoryOpening? {
    if let lastOpening, lastOpening.text == text { return lastOpening.opening }
    let opening = HistoryOpening(text)
    lastOpening = (text, opening)
    return opening
  }

  /// Returns the first row of the next transaction. A reader that starts at the beginning skips a partially purged transaction.
  private mutating func firstEntry() throws -> HistoryEntry? {
    while let entry = try entry() {
      if entry.start == nil { return entry }
      if entry.transaction != skippedTransaction {
        let isPurged = hasStarted || query.after > 0
        if isPurged, try !isPartOfAnotherKind(entry) { return entry }
        skippedTransaction = entry.transaction
      }
      position += 1
    }
    return nil
  }

  /// Returns whether a row continues a transaction whose first row the query excludes by its kind. Earlier versions of the library wrote
  /// such transactions; they have the kind of their first row.
  private func isPartOfAnotherKind(_ entry: HistoryEntry) throws -> Bool {
    guard query.kinds != nil, let oldest = try store.historyBounds()?.oldest else { return false }
    return oldest.number <= entry.transaction
  }

  /// Returns the current row, or nil after the last one.
  private mutating func entry() throws -> HistoryEntry? {
    if position == entries.count {
      if isAtEnd { return nil }
      entries = try store.historyEntries(query, byteLimit: Self.byteLimit)
      position = 0
      guard let last = entries.last else {
        isAtEnd = true
        return nil
      }
      query.behindRow = last.number
    }
    return entries[position]
  }

  private mutating func take(_ entry: HistoryEntry) throws {
    position += 1
    if includesChanges { try decoder.take(entry) }
  }

  private func expired() throws -> StoreError {
    StoreError(
      .historyExpired(oldest: try store.historyBounds().map { PersistentHistoryToken($0.oldest, of: identifier).description }),
      operation: .readHistory)
  }
}

/// Predicates for transactions and changes, evaluated by the store as far as possible and in memory.
struct HistoryFilter {
  let transactions: FetchPredicate?
  let changes: FetchPredicate?

  /// The names that predicates for transactions can use. `changeNames` are those for changes.
  private static let transactionNames: Set<String> = [
    "token", "author", "contextName", "processID", "bundleID", "storeID", "timestamp", "kind",
  ]
  private static let changeNames: Set<String> = ["object", "entity", "changeType", "properties"]

  /// Creates a filter.
  ///
  /// - Throws: ``FetchPredicateError`` if a predicate uses an unknown name.
  init(transactions: FetchPredicate?, changes: FetchPredicate?) throws {
    try transactions.map { try Self.check($0, "Transaction", Self.transactionNames) }
    try changes.map { try Self.check($0, "Change", Self.changeNames) }
    (self.transactions, self.changes) = (transactions, changes)
  }

  private static func check(_ predicate: FetchPredicate, _ entity: String, _ known: Set<String>) throws {
    for name in predicate.keyPathHeads.sorted() where !known.contains(name) {
      throw FetchPredicateError.unknownKey(key: name, keyPath: name, entity: entity, suggestion: nil)
    }
  }

  // MARK: Evaluation in memory

  func accepts(_ transaction: PersistentHistoryTransaction) throws -> Bool {
    guard let transactions else { return true }
    var values: [String: Any] = [
      "token": transaction.transactionNumber, "processID": transaction.processID, "bundleID": transaction.bundleID,
      "storeID": transaction.storeIdentifier, "timestamp": transaction.timestamp, "kind": transaction.kind.rawValue,
    ]
    values["author"] = transaction.author
    values["contextName"] = transaction.contextName
    return try transactions.evaluate(with: values)
  }

  /// A closure that returns whether a change matches, or nil if all changes match.
  var acceptsChange: ((PersistentHistoryChange) throws -> Bool)? {
    changes.map { predicate in
      // The object's URI is created only if the predicate uses it. Otherwise this would take most of the time.
      let usesChangedObject = predicate.keyPathHeads.contains("object")
      return { change in
        var values: [String: Any] = [
          "entity": change.changedObjectID.entityName, "changeType": change.changeType.rawValue, "properties": change.updatedProperties,
        ]
        if usesChangedObject { values["object"] = change.changedObjectID.uriString }
        return try predicate.evaluate(with: values)
      }
    }
  }

  // MARK: Evaluation in the store

  /// Restricts a query by conditions that every matching transaction meets.
  ///
  /// The initial record of a history is not a transaction of the application. It is included only if the predicate uses `kind`.
  func narrow(_ query: inout HistoryQuery) {
    query.omitsBeginning = !(transactions?.keyPathHeads.contains("kind") ?? false)
    if let transactions { narrow(&query, by: transactions) }
  }

  private func narrow(_ query: inout HistoryQuery, by predicate: FetchPredicate) {
    switch predicate {
    case .and(let items): for item in items { narrow(&query, by: item) }
    case .comparison(let comparison):
      guard comparison.modifier == .direct, comparison.options.isEmpty, case .keyPath(let path) = comparison.left, path.count == 1,
        case .constant(let value) = comparison.right
      else { return }
      narrow(&query, path[0], comparison.op, value)
    default: return
    }
  }

  private func narrow(_ query: inout HistoryQuery, _ name: String, _ op: ComparisonOperator, _ value: FetchConstant) {
    switch (name, op, value) {
    case ("author", .equal, .string(let name)): query.authors = Self.common(query.authors, [name])
    case ("author", .in, .list(let items)): query.authors = Self.common(query.authors, Self.texts(items))
    case ("contextName", .equal, .string(let name)): query.contexts = Self.common(query.contexts, [name])
    case ("contextName", .in, .list(let items)): query.contexts = Self.common(query.contexts, Self.texts(items))
    case ("kind", .equal, .string(let name)):
      query.kinds = Self.common(query.kinds, Set(HistoryKind.allCases.filter { PersistentHistoryTransaction.Kind($0).rawValue == name }))
    case ("timestamp", .greaterOrEqual, .date(let date)), ("timestamp", .greater, .date(let date)):
      query.since = max(query.since ?? -.infinity, date.timeIntervalSinceReferenceDate)
    case ("timestamp", .less, .date(let date)):
      query.before = min(query.before ?? .infinity, date.timeIntervalSinceReferenceDate)
    case ("token", .greater, .int(let number)): query.after = max(query.after, number)
    case ("token", .lessOrEqual, .int(let number)): query.upTo = min(query.upTo, number)
    default: return
    }
  }

  private static func common<Item>(_ known: Set<Item>?, _ items: Set<Item>) -> Set<Item> { known?.intersection(items) ?? items }

  /// Returns the strings of a list. Other items cannot be names of authors.
  private static func texts(_ items: [FetchConstant]) -> Set<String> {
    Set(items.compactMap { if case .string(let text) = $0 { text } else { nil } })
  }
}
