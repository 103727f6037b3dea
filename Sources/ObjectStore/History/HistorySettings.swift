// HistorySettings: whether a store keeps a history, what it keeps of each change, and for how long.
public import Foundation

/// How much a history keeps of each change.
public enum HistoryLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// Which objects and properties were changed. Of deleted objects the attributes that are marked `preservesValueInHistoryOnDeletion` keep their values.
  case properties
  /// Beside that all values: those of new and deleted objects, and of changed properties the old and the new one.
  case values
}

/// For how long a history is kept. What is older is purged in portions behind saves, but never what a consumer has still to read.
public enum HistoryRetention: Sendable, Hashable {
  /// Until somebody deletes it.
  case unlimited
  /// For so many seconds.
  case age(TimeInterval)
  /// The last transactions, as many as this.
  case transactions(Int)
}

/// What a store that keeps a history has noted of it.
package struct HistorySettings: Sendable, Hashable, Codable {
  package var level: HistoryLevel

  package init(level: HistoryLevel = .properties) { self.level = level }
}
