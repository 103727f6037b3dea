/// Reports the progress of moving a store, as a fraction that reaches 1 only when the new store has replaced the old one.
struct StoreMoveProgress: Sendable {
  /// The number of units. The last one is for the steps after the copy: committing, opening, and replacing.
  private static let units = 1_000

  private let handler: (@Sendable (_ done: Int, _ total: Int) -> Bool)?

  init(_ handler: (@Sendable (_ done: Int, _ total: Int) -> Bool)?) { self.handler = handler }

  /// The handler for copying a file, or nil if the progress is not observed.
  var ofCopy: (@Sendable (_ done: Int, _ total: Int) -> Bool)? {
    guard let handler else { return nil }
    return { done, total in handler(Self.share(done, of: total), Self.units) }
  }

  /// Reports the progress of copying rows.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled`` if the handler returns false; `CancellationError` if the task is canceled.
  func report(_ done: Int, of total: Int) throws {
    try Task.checkCancellation()
    if let handler, !handler(Self.share(done, of: total), Self.units) { throw StoreError(.copyCancelled, operation: .copyStore) }
  }

  /// Reports completion. The operation can no longer be canceled.
  func finish() { _ = handler?(Self.units, Self.units) }

  private static func share(_ done: Int, of total: Int) -> Int {
    guard total > 0 else { return 0 }
    return min(Int(Double(done) / Double(total) * Double(units - 1)), units - 1)
  }
}
