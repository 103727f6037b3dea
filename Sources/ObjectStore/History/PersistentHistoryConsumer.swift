public import Foundation

/// A registered consumer of a history, which reads it incrementally. Its registration is saved in the store.
public struct PersistentHistoryConsumer: Sendable, Hashable {
  /// The name of the consumer.
  public let name: String
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The token up to which the consumer has read, or nil if it has read nothing.
  public let token: PersistentHistoryToken?
  /// The time of the consumer's last update.
  public let lastSeen: Date
}

// MARK: - Consumers of a coordinator

extension PersistentStoreCoordinator {
  /// Registers a consumer of the histories of the open stores. Transactions that it has not read are not purged, and requests to delete
  /// them throw. If the consumer is already registered, its position is unchanged.
  ///
  /// - Parameters:
  ///   - name: A name that is unique in the application.
  ///   - token: The token after which the consumer starts to read, or nil for the beginning of each history.
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

  /// Records that a consumer has read up to a token. Earlier transactions may be purged.
  ///
  /// - Throws: ``StoreError``, with `historyConsumerBehind` if no consumer with the name is registered, and the codes of ``execute(_:)``.
  public func markHistoryConsumed(upTo token: PersistentHistoryToken, by name: String) throws {
    for history in try histories(affectedStores: nil, token: token, .changeHistoryConsumer) {
      guard let position = token.positions[history.store.identifier] else { continue }
      let known = try history.history.historyConsumers()
      guard let consumer = known.first(where: { $0.name == name }) else {
        throw StoreError(
          .unknownHistoryConsumer(name, known: known.map(\.name)), operation: .changeHistoryConsumer, path: history.store.url?.path)
      }
      _ = try history.number(at: position)
      // The position never moves back.
      if let reached = consumer.position, reached.number > position.number { continue }
      try history.history.setHistoryConsumer(
        HistoryConsumerRecord(name: name, position: position, seen: Date().timeIntervalSinceReferenceDate))
    }
  }

  /// Returns the consumers of the histories of the open stores, ordered by store and name.
  ///
  /// - Throws: ``StoreError`` if a history cannot be read.
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

  /// Removes a consumer.
  ///
  /// - Returns: Whether a consumer with the name was registered.
  /// - Throws: ``StoreError`` if a history cannot be written.
  @discardableResult
  public func removeHistoryConsumer(_ name: String) throws -> Bool {
    var existed = false
    for history in try histories(affectedStores: nil, token: nil, .changeHistoryConsumer) {
      if try history.history.removeHistoryConsumer(name) { existed = true }
    }
    return existed
  }
}
