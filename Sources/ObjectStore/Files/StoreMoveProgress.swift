// StoreMoveProgress: how far the move of a store is: one fraction over the copy and what follows it.

/// Tells how far a store has been moved: a fraction that is 1 only when the new store has taken the old one's place.
struct StoreMoveProgress: Sendable {
  /// The units of the whole. The last one is what follows the copy: its commit, its opening, and the exchange.
  private static let units = 1_000

  private let handler: (@Sendable (_ done: Int, _ total: Int) -> Bool)?

  init(_ handler: (@Sendable (_ done: Int, _ total: Int) -> Bool)?) { self.handler = handler }

  /// What the copy of a file tells; nil where nobody listens.
  var ofCopy: (@Sendable (_ done: Int, _ total: Int) -> Bool)? {
    guard let handler else { return nil }
    return { done, total in handler(Self.share(done, of: total), Self.units) }
  }

  /// Tells how much of a copy row by row is done.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled`` where the handler ends the work; `CancellationError` where the task is cancelled.
  func tell(_ done: Int, of total: Int) throws {
    try Task.checkCancellation()
    if let handler, !handler(Self.share(done, of: total), Self.units) { throw StoreError(.cancelled, operation: .copyStore) }
  }

  /// Tells that all is done. Nothing can be stopped any more.
  func finish() { _ = handler?(Self.units, Self.units) }

  private static func share(_ done: Int, of total: Int) -> Int {
    guard total > 0 else { return 0 }
    return min(Int(Double(done) / Double(total) * Double(units - 1)), units - 1)
  }
}
