package import Foundation
/// A filter for history rows. Conditions that a store cannot evaluate are checked during decoding.
package struct HistoryQuery: Sendable {
  /// The transaction after which to begin.
  package var after: Int64 = 0
  /// The row after which to continue, possibly in the middle of a transaction.
  package var behindRow: Int64 = 0
  /// The last transaction to include.
  package var upTo = Int64.max
  /// The authors to include, or nil for any author. An empty set matches nothing.
  package var authors: Set<String>?
  /// The names of the contexts to include, or nil for any context.
  package var contexts: Set<String>?
  /// The kinds of transactions to include, or nil for any kind.
  package var kinds: Set<HistoryKind>?
  /// Whether to omit the record that begins the history, which the library itself writes.
  package var omitsBeginning = false
  /// The range of times to include, in seconds since 2001: from `since`, up to but not including `before`.
  package var since: Double?
  package var before: Double?

  package init() {}

  /// Returns whether an entry matches the filter.
  package func accepts(_ entry: HistoryEntry) -> Bool {
    let authorship = entry.authorship
    if let authors, !(authorship.author.map(authors.contains) ?? false) { return false }
    if let contexts, !(authorship.context.map(contexts.contains) ?? false) { return false }
    if let kinds, !kinds.contains(authorship.kind) { return false }
    if omitsBeginning, authorship.kind == .begin { return false }
    if let since, authorship.time < since { return false }
    if let before, authorship.time >= before { return false }
    return entry.transaction > after && entry.transaction <= upTo && entry.number > behindRow
  }
}

/// The oldest and newest transactions of a history.
package struct HistoryBounds: Sendable, Hashable {
  /// The oldest transaction that was not purged.
  package var oldest: HistoryPosition
  package var newest: HistoryPosition

  package init(oldest: HistoryPosition, newest: HistoryPosition) { (self.oldest, self.newest) = (oldest, newest) }
}

/// A registered consumer of a history, and its position.
package struct HistoryConsumerRecord: Sendable, Hashable {
  package var name: String
  /// The last transaction that the consumer has read, or nil if it has read none.
  package var position: HistoryPosition?
  /// The time of its last update, in seconds since 2001.
  package var seen: Double

  package init(name: String, position: HistoryPosition?, seen: Double) { (self.name, self.position, self.seen) = (name, position, seen) }
}

/// A store that can keep a history.
package protocol HistoryStore: IncrementalStore {
  /// Returns the store's history settings, or nil if it keeps no history.
  ///
  /// - Throws: ``StoreError`` if the store is closed or cannot be read.
  func historySettings() throws -> HistorySettings?

  /// Enables or disables the history, or changes its level, in one transaction. Disabling deletes the whole history.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/historyConsumerBehind`` if the history is disabled while a consumer is registered.
  func setHistory(_ settings: HistorySettings?) throws

  /// Returns the history IDs of the current model, or nil if the store keeps no history.
  func historyIDs() throws -> HistoryIDs?

  /// Returns the ID under which the history records this opening of the store, or nil if the store keeps no history.
  func historyOpening() throws -> UUID?

  /// Returns the oldest and newest transactions, or nil if the history is empty.
  func historyBounds() throws -> HistoryBounds?

  /// Returns the position of a transaction, or nil if there is no transaction with the number.
  func historyPosition(of number: Int64) throws -> HistoryPosition?

  /// Returns the first rows that match a filter, in order.
  ///
  /// - Parameters:
  ///   - query: The filter.
  ///   - byteLimit: The number of bytes, as counted by ``HistoryEntry/size``. The result ends with the row that reaches it.
  func historyEntries(_ query: HistoryQuery, byteLimit: Int) throws -> [HistoryEntry]

  /// Deletes the oldest transactions, but never the newest one.
  ///
  /// - Parameters:
  ///   - number: The first transaction to keep.
  ///   - rowLimit: The maximum number of rows to delete. The limit can be reached within a transaction; the deleted rows are always the
  ///     oldest.
  /// - Returns: Whether there are more rows to delete.
  func deleteHistory(before number: Int64, rowLimit: Int) throws -> Bool

  /// Returns all registered consumers.
  func historyConsumers() throws -> [HistoryConsumerRecord]

  /// Registers a consumer or updates its position.
  func setHistoryConsumer(_ consumer: HistoryConsumerRecord) throws

  /// Removes a consumer.
  ///
  /// - Returns: Whether a consumer with the name was registered.
  func removeHistoryConsumer(_ name: String) throws -> Bool
}

/// A generation of a store that keeps a history.
package protocol HistoryGeneration: StoreGeneration {
  /// Returns the newest transaction of the generation, or nil if the store kept no history at the time.
  func historyPosition() throws -> HistoryPosition?
}
