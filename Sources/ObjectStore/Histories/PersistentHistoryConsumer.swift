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
