// PersistentHistoryConsumer: who reads a history bit by bit.
public import Foundation

/// Somebody who reads a history bit by bit, under a name that outlives the process.
public struct PersistentHistoryConsumer: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The place up to which it has read; nil where it has read nothing.
  public let token: PersistentHistoryToken?
  /// When it said so.
  public let lastSeen: Date
}
