public import Foundation

/// The level of detail that a history records for each change.
public enum HistoryLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// The changed objects and properties. For deleted objects, the values of attributes that are marked `preservesValueInHistoryOnDeletion`
  /// are recorded too.
  case properties
  /// In addition, all values: those of inserted and deleted objects, and the old and new values of changed properties.
  case values
}

/// How long a history is kept. Older transactions are purged in batches after saves, but never before all registered consumers have read
/// them.
public enum HistoryRetention: Sendable, Hashable {
  /// Until the application deletes it.
  case unlimited
  /// The given number of seconds.
  case age(TimeInterval)
  /// The given number of transactions.
  case transactions(Int)
}

/// The settings of a history, saved in the store.
package struct HistorySettings: Sendable, Hashable, Codable {
  package var level: HistoryLevel

  package init(level: HistoryLevel = .properties) { self.level = level }
}
