public import Foundation
public import SyncEngine

/// A piece of work of a container's synchronization.
///
/// It is reported when the work begins, with ``endDate`` nil, and again when it has ended, with the same ``id``. See
/// ``PersistentCloudContainer/events()``, and ``CloudEventRequest`` for the events of the past.
public struct CloudEvent: Sendable, Identifiable {
  /// The kind of work.
  public enum EventType: String, Sendable, Hashable, Codable, CaseIterable {
    /// The store is prepared for synchronization, its existing objects are added to the account, or it continues as a
    /// new device, because its file was copied or restored.
    case setup
    /// Changes of other devices are imported.
    case `import`
    /// Saves are sent.
    case export
    /// All records of the store are compared with those of the hub, and those that differ are fetched: the device was away for so long that
    /// the hub has removed deletions, or the comparison after an import has found a difference, or ``PersistentCloudContainer/reconcile()``
    /// was called.
    case reconcile
  }

  /// A record that could not be read, or a value of it that could not be merged with others. The work goes on nevertheless.
  public struct RecordFailure: Sendable, CustomStringConvertible {
    /// The ID of the record, which is the object's ``ManagedObject/stableID``. Nil if this device does not have the object.
    public let recordID: UUID?
    /// What is wrong with the record.
    public let error: SyncError

    /// The message of the error.
    public var description: String { recordID.map { "\(error) (record \($0.uuidString))" } ?? "\(error)" }
  }

  /// The identity of the event.
  public let id: UUID
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The kind of work.
  public let type: EventType
  /// When the work began.
  public let startDate: Date
  /// When it ended; nil while it runs.
  public let endDate: Date?
  /// The number of objects that a setup has added, that an import has inserted, changed or deleted, of records that an export has sent, or
  /// of records that differed from those of the hub. A member that was added to a many-to-many relationship or removed from it counts as an
  /// object.
  ///
  /// While an import runs, it is the number of records that were received so far. The store can have some of them already, for example
  /// those that another device has sent to a new hub: they change no object.
  public let count: Int
  /// The error that ended the work, or nil. Synchronization tries again by itself.
  ///
  /// Errors are ``SyncError`` values, or errors of the store. An event that was read from a store contains the code and the message of a
  /// ``SyncError``, and the message of other errors.
  public let error: (any Error)?
  /// The records that could not be read, at most 100, which are kept until they can be read; and those with values that could not be merged,
  /// with errors of the code `mergeFailed`.
  public let recordFailures: [RecordFailure]
  /// Whether the work was completed.
  public var succeeded: Bool { endDate != nil && error == nil }

  init(_ event: SyncEvent, storeIdentifier: String, path: String?) {
    (id, startDate, endDate, count, error) = (event.id, event.start, event.end, event.count, event.error)
    self.storeIdentifier = storeIdentifier
    type =
      switch event.kind {
      case .setup: .setup
      case .import: .import
      case .export: .export
      case .reconcile: .reconcile
      }
    recordFailures =
      event.unreadable.map { RecordFailure(recordID: $0.id, error: .unreadableRecord(path: path)) }
      + event.unmerged.map { RecordFailure(recordID: $0.id, error: .unmerged($0, path: path)) }
  }
}
