// PersistentStoreCoordinator+HistoryConsumers: who reads histories bit by bit, so that nothing is purged before it was read.
import Foundation

extension PersistentStoreCoordinator {
  /// Enters a consumer of the histories of the open stores: what it has not read is not purged, and deleting it is refused. One that is entered stays where it is.
  ///
  /// - Parameters:
  ///   - name: A name that the application gives out once.
  ///   - token: The place from which on it reads; nil for the beginning of each history.
  /// - Throws: ``StoreError``, with the codes of ``execute(_:)``.
  public func registerHistoryConsumer(_ name: String, after token: PersistentHistoryToken? = nil) throws {
    for history in try histories(affectedStores: nil, token: token, .changeHistoryConsumer) {
      if try history.history.historyConsumers().contains(where: { $0.name == name }) { continue }
      _ = try history.number(after: token)
      try history.history.setHistoryConsumer(
        HistoryConsumerRecord(name: name, position: token?.positions[history.store.identifier], seen: Date().timeIntervalSinceReferenceDate)
      )
    }
  }

  /// Notes that a consumer has read up to a place; what lies before it may be purged.
  ///
  /// - Throws: ``StoreError``, with `historyConsumerBehind` where no consumer of the name is registered, and the codes of ``execute(_:)``.
  public func historyConsumed(_ token: PersistentHistoryToken, by name: String) throws {
    for history in try histories(affectedStores: nil, token: token, .changeHistoryConsumer) {
      guard let position = token.positions[history.store.identifier] else { continue }
      let known = try history.history.historyConsumers()
      guard let consumer = known.first(where: { $0.name == name }) else {
        throw StoreError(
          .unknownHistoryConsumer(name, known: known.map(\.name)), operation: .changeHistoryConsumer, path: history.store.url?.path)
      }
      _ = try history.number(at: position)
      // A place that was reached is not given up.
      if let reached = consumer.position, reached.number > position.number { continue }
      try history.history.setHistoryConsumer(
        HistoryConsumerRecord(name: name, position: position, seen: Date().timeIntervalSinceReferenceDate))
    }
  }

  /// The consumers of the histories of the open stores, store by store, by name.
  ///
  /// - Throws: ``StoreError`` where a history cannot be read.
  public func historyConsumers() throws -> [PersistentHistoryConsumer] {
    try histories(affectedStores: nil, token: nil, .readHistory).flatMap { history in
      try history.history.historyConsumers().map { consumer in
        PersistentHistoryConsumer(
          name: consumer.name, storeIdentifier: history.store.identifier,
          token: consumer.position.map { PersistentHistoryToken($0, of: history.store.identifier) },
          lastSeen: Date(timeIntervalSinceReferenceDate: consumer.seen))
      }
    }
  }

  /// Forgets a consumer.
  ///
  /// - Returns: Whether there was one of the name.
  /// - Throws: ``StoreError`` where a history cannot be written.
  @discardableResult
  public func removeHistoryConsumer(_ name: String) throws -> Bool {
    var wasThere = false
    for history in try histories(affectedStores: nil, token: nil, .changeHistoryConsumer) {
      if try history.history.removeHistoryConsumer(name) { wasThere = true }
    }
    return wasThere
  }
}
