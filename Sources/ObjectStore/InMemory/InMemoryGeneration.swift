/// A version of the rows, kept for readers.
final class InMemoryGeneration: StoreGeneration {
  let store: InMemoryStore
  let rows: InMemoryRows
  private let identifier: String

  init(of store: InMemoryStore, identifier: String, rows: InMemoryRows) {
    (self.store, self.identifier, self.rows) = (store, identifier, rows)
  }

  /// True after the store was closed, so that its rows are no longer available to any reader.
  var isOver: Bool { !store.isOpen(as: identifier) }
}

extension InMemoryGeneration: HistoryGeneration {
  func historyPosition() throws -> HistoryPosition? {
    rows.history?.entries.last { $0.start == nil }?.position
  }
}
