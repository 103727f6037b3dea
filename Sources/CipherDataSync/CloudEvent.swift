public import Foundation
import SyncEngine

/// A piece of work of a container's synchronization that has ended.
public struct CloudEvent: Sendable, Identifiable {
  /// The kind of work.
  public enum EventType: String, Sendable, Hashable, Codable, CaseIterable {
    /// The store was prepared for synchronization, or its existing objects were added to the zone.
    case setup
    /// Changes of other devices were imported.
    case `import`
    /// Saves were sent.
    case export
  }

  /// The identity of the event.
  public let id: UUID
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The kind of work.
  public let type: EventType
  /// When the work began.
  public let startDate: Date
  /// When it ended.
  public let endDate: Date
  /// The number of records that were imported, sent, or added.
  public let count: Int
  /// The error that ended the work, or nil. Synchronization tries again by itself.
  public let error: (any Error)?
  /// Whether the work was completed.
  public var succeeded: Bool { error == nil }

  init(_ type: EventType, of store: String, began start: Date, count: Int = 0, error: (any Error)? = nil) {
    id = UUID()
    (self.type, storeIdentifier, startDate, endDate, self.count, self.error) = (type, store, start, Date(), count, error)
  }

  /// Returns the events of a round.
  static func events(of update: SyncService.Update, store: String) -> [CloudEvent] {
    switch update {
    case .round(let round, let start):
      let counts: [(EventType, Int)] = [(.setup, round.added), (.import, round.pulled), (.export, round.pushed)]
      return counts.compactMap { type, count in count == 0 ? nil : CloudEvent(type, of: store, began: start, count: count) }
    case .failure(let error, let start, _):
      return [CloudEvent(.import, of: store, began: start, error: SyncError.converting(error, path: nil))]
    }
  }
}
