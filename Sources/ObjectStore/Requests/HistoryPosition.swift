/// The position of a transaction in the history of a store.
package struct HistoryPosition: Sendable, Hashable, Codable {
  /// The number of the transaction's first row.
  package var number: Int64
  /// The random mark of that row, which distinguishes histories that use the same numbers.
  package var mark: Int64

  package init(number: Int64, mark: Int64) { (self.number, self.mark) = (number, mark) }
}
