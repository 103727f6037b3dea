// HistoryStore: what a store that can keep a history offers to coordinators.
package import Foundation
/// What is wanted of a history's rows; what a store cannot decide by itself is decided while decoding.
package struct HistoryQuery: Sendable {
  /// Only transactions behind this one.
  package var after: Int64 = 0
  /// Where a walk goes on: only rows behind this one, among them those of a transaction that is half read.
  package var behindRow: Int64 = 0
  /// Only transactions up to this one.
  package var upTo = Int64.max
  /// Only of these authors; an empty set is of none. Nil asks for any.
  package var authors: Set<String>?
  /// Only of contexts of these names.
  package var contexts: Set<String>?
  /// Only of these kinds.
  package var kinds: Set<HistoryKind>?
  /// Whether the record with which the history begins is left out: it is the library's own.
  package var omitsBeginning = false
  /// Only since a time, in seconds since 2001; before it.
  package var since: Double?
  package var before: Double?

  package init() {}

  /// Whether an entry's author and so on are wanted.
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

/// The ends of a history.
package struct HistoryExtent: Sendable, Hashable {
  /// The oldest transaction that is left.
  package var oldest: HistoryPosition
  /// The newest transaction.
  package var newest: HistoryPosition

  package init(oldest: HistoryPosition, newest: HistoryPosition) { (self.oldest, self.newest) = (oldest, newest) }
}

/// Somebody who reads a history bit by bit, and what he has read.
package struct HistoryConsumerRecord: Sendable, Hashable {
  package var name: String
  /// The last transaction that he has read; nil where he has read none.
  package var position: HistoryPosition?
  /// When he said so, in seconds since 2001.
  package var seen: Double

  package init(name: String, position: HistoryPosition?, seen: Double) { (self.name, self.position, self.seen) = (name, position, seen) }
}

/// A store that can keep a history.
package protocol HistoryStore: IncrementalStore {
  /// What the store has noted; nil where it keeps no history.
  ///
  /// - Throws: ``StoreError`` where the store is closed or cannot be read.
  func historySettings() throws -> HistorySettings?

  /// Switches the history on, off, or to another level, in one transaction. Switching it off forgets all of it.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/historyConsumerBehind`` where it is switched off while a consumer is registered.
  func setHistory(_ settings: HistorySettings?) throws

  /// The ids of the present model; nil where the store keeps no history.
  func historyIDs() throws -> HistoryIDs?

  /// What the history calls this opening of the store; nil where it keeps none.
  func historyOpening() throws -> UUID?

  /// The ends of the history; nil where it has no transaction.
  func historyExtent() throws -> HistoryExtent?

  /// The place of a transaction; nil where there is none of the number.
  func historyPosition(of number: Int64) throws -> HistoryPosition?

  /// The first rows that are wanted, in order.
  ///
  /// - Parameter byteLimit: Ends after the row with which so many bytes are reached, as ``HistoryEntry/size`` counts them.
  func historyEntries(_ query: HistoryQuery, byteLimit: Int) throws -> [HistoryEntry]

  /// Deletes the oldest transactions, but never the newest.
  ///
  /// - Parameters:
  ///   - number: Transactions from this one on stay.
  ///   - rowLimit: Ends where so many rows are gone, at the end of a transaction or not: what is gone is a prefix.
  /// - Returns: Whether there is more to delete.
  func deleteHistory(before number: Int64, rowLimit: Int) throws -> Bool

  /// All consumers by name.
  func historyConsumers() throws -> [HistoryConsumerRecord]

  /// Enters a consumer, or what he has read.
  func setHistoryConsumer(_ consumer: HistoryConsumerRecord) throws

  /// Forgets a consumer.
  ///
  /// - Returns: Whether there was one of the name.
  func removeHistoryConsumer(_ name: String) throws -> Bool
}

/// A state of such a store that holds still.
package protocol HistoryGeneration: StoreGeneration {
  /// The newest transaction that the state shows; nil where the store kept no history then.
  func historyPosition() throws -> HistoryPosition?
}
