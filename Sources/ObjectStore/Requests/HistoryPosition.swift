// HistoryPosition: the place of a transaction in the history of a store.

/// The place of a transaction in a history.
package struct HistoryPosition: Sendable, Hashable, Codable {
  /// The number of the transaction's first row.
  package var number: Int64
  /// The mark of that row.
  package var mark: Int64

  package init(number: Int64, mark: Int64) { (self.number, self.mark) = (number, mark) }
}
