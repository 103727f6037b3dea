package import Foundation
import SyncCore

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

  /// An attribute of an object that shows the last value, because a function of the application could not merge it with others.
  package struct UnmergedValue: Sendable, Hashable, Codable {
    package enum Failure: Sendable, Hashable, Codable {
      case missing
      case failed(String)
      case ordered
    }

    /// The ID of the record.
    package let id: UUID
    package let entity: String
    package let attribute: String
    /// The name of the function; nil if the model does not declare it.
    package let function: String?
    package let failure: Failure
  }

  package let id: UUID
  package let kind: Kind
  package let start: Date
  /// When the work ended; nil while it runs.
  package private(set) var end: Date?
  /// The number of objects that were added or changed by an import, of records that were sent, or of records that differed. While an import
  /// runs, the number of records that were received so far.
  package var count = 0
  /// The error that ended the work.
  package private(set) var error: (any Error)?
  /// What went wrong, in one sentence without advice; nil without an error.
  package private(set) var failure: String?
  /// The records that could not be opened, at most ``maximumUnreadableCount``.
  package var unreadable: [UnreadableRecord] = []

  /// The values that could not be merged, at most ``maximumUnreadableCount``.
  package var unmerged: [UnmergedValue] = []

  /// The number of unreadable records, or of values that could not be merged, that an event lists.
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

extension SyncEvent.UnmergedValue.Failure {
  init(_ failure: MergeFunction.Failure) {
    self =
      switch failure {
      case .missing: .missing
      case .failed(let type): .failed(type)
      case .ordered: .ordered
      }
  }
}

extension SyncError {
  /// Returns the error for a value that could not be merged.
  package static func unmerged(_ value: SyncEvent.UnmergedValue, path: String?) -> SyncError { SyncError(.unmerged(value), path: path) }

  /// Returns the error for a record that cannot be opened.
  package static func unreadableRecord(path: String?) -> SyncError { SyncError(.unreadableRecord, path: path) }
}

extension SyncError.Reason {
  fileprivate static func unmerged(_ value: SyncEvent.UnmergedValue) -> Self {
    let attribute = "\(value.entity).\(value.attribute)"
    let function = value.function.map { "the function “\($0)”" } ?? "a function"
    let rest = "The last value remains; the others are in the journal of the device that noticed it first."
    switch value.failure {
    case .missing:
      return Self(
        .mergeFailed,
        "Values of \(attribute) that several devices have saved are merged by \(function), which this program has not registered. It shows the "
          + "last value, and keeps all of them.")
    case .failed(let type):
      return Self(
        .mergeFailed, "Values of \(attribute) that several devices have saved could not be merged: \(function) failed with \(type). \(rest)"
      )
    case .ordered:
      return Self(
        .mergeFailed,
        "Values of \(attribute) that several devices have saved could not be merged: \(function) returns another value if its arguments are "
          + "exchanged. \(rest)")
    }
  }

  fileprivate static var unreadableRecord: Self {
    Self(
      .hubUnreadable,
      "A record of the hub cannot be opened: it is damaged, or a newer version has written it. It is kept until it can be opened; "
        + "everything else was imported.")
  }
}
