package import Foundation

/// A piece of work of synchronization. It is reported when it begins, while it runs, and when it has ended.
package struct SyncEvent: Sendable, Identifiable {
  package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The store is prepared for synchronization, its existing objects are added to the zone, or it continues as a new
    /// device, because its file was copied or restored.
    case setup
    /// Changes of other devices are imported.
    case `import`
    /// Saves are sent.
    case export
    /// All records are compared with those of the hub, and those that differ are fetched.
    case reconcile
  }

  /// A record that could not be opened.
  package struct UnreadableRecord: Sendable, Hashable, Codable {
    /// The ID of the record, or nil if it is new to this device.
    package let id: UUID?
  }

  package let id: UUID
  package let kind: Kind
  package let start: Date
  /// When the work ended; nil while it runs.
  package private(set) var end: Date?
  /// The number of objects that were added or changed by an import, of records that were sent, or of records that differed. While an import runs, the number of
  /// records that were received so far.
  package var count = 0
  /// The error that ended the work.
  package private(set) var error: (any Error)?
  /// What went wrong, in one sentence without advice; nil without an error.
  package private(set) var failure: String?
  /// The records that could not be opened, at most ``maximumUnreadableCount``.
  package var unreadable: [UnreadableRecord] = []

  /// The number of unreadable records that an event lists.
  package static let maximumUnreadableCount = 100

  /// Creates the event of work that begins.
  package init(_ kind: Kind, id: UUID = UUID(), start: Date = Date()) { (self.id, self.kind, self.start) = (id, kind, start) }

  /// Returns the event at the end of the work.
  ///
  /// - Parameter failure: What went wrong, in one sentence; nil to take it from the error.
  package func ended(with error: (any Error)? = nil, failure: String? = nil, at end: Date = Date()) -> SyncEvent {
    var event = self
    (event.end, event.error, event.failure) = (end, error, failure ?? error.map(SyncError.shortMessage))
    return event
  }
}

/// The error of an event that was read from a store: only its message is known.
package struct RecordedSyncError: Error, Sendable, CustomStringConvertible {
  package let description: String
}

extension SyncError {
  /// Returns the error for a record that cannot be opened.
  package static func unreadableRecord(path: String?) -> SyncError { SyncError(.unreadableRecord, path: path) }
}

extension SyncError.Reason {
  fileprivate static var unreadableRecord: Self {
    Self(
      .hubUnreadable,
      "A record of the hub cannot be opened: it is damaged, or a newer version has written it. It is kept until it can be opened; "
        + "everything else was imported.")
  }
}
