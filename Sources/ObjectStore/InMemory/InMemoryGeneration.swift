// InMemoryGeneration: the rows of an in-memory store as they were at one moment.

/// One version of the rows, for who goes on reading it.
final class InMemoryGeneration: StoreGeneration {
  let store: InMemoryStore
  let rows: InMemoryRows
  private let identifier: String

  init(of store: InMemoryStore, identifier: String, rows: InMemoryRows) {
    (self.store, self.identifier, self.rows) = (store, identifier, rows)
  }

  /// Rows that a store has forgotten are gone for everybody.
  var isOver: Bool { !store.isOpen(as: identifier) }
}

extension InMemoryGeneration: HistoryGeneration {
  func historyPosition() throws -> HistoryPosition? {
    rows.history?.entries.last { $0.start == nil }?.position
  }
}
