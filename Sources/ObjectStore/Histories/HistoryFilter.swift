import Foundation
import ObjectModel
import ObjectQuery

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
