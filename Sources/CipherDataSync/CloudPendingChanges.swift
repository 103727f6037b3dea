public import Foundation
public import ObjectModel
public import ObjectStore
import SyncEngine

/// What a store has saved and the hub has not accepted yet: see ``PersistentCloudContainer/pendingChanges(of:maximumObjectCount:)``.
public struct CloudPendingChanges: Sendable, Hashable {
  /// The change of an object.
  public struct Object: Sendable, Hashable {
    /// The kind of a change.
    public enum ChangeType: String, Sendable, Hashable, CaseIterable {
      /// The other devices do not have the object.
      case insert
      /// The other devices have the object with other values.
      case update
      /// The other devices have the object.
      case delete
    }

    /// The object. Nil for an added or removed member of a many-to-many relationship that is sent apart from a save.
    public let objectID: ManagedObjectID?
    /// The object's ``ManagedObject/stableID``; nil if the store does not keep that of a deleted object.
    public let stableID: UUID?
    /// The name of the object's entity; nil if the model does not have it.
    public let entityName: String?
    /// What is sent.
    public let type: ChangeType
    /// The names of the properties with new values, sorted. Empty for a deleted object.
    public let propertyNames: [String]
    /// The size of the new values in bytes, before they are sealed. Large values are included.
    public let size: Int64
    /// Whether the change waits for the record on the hub, which cannot be read at present: see ``CloudConflicts/unreadableRecords``.
    public let isBlocked: Bool

    init(_ change: PendingReport.Change) {
      (objectID, stableID, entityName, propertyNames) = (change.objectID, change.stableID, change.entityName, change.propertyNames)
      (size, isBlocked) = (change.size, change.isBlocked)
      type =
        switch change.type {
        case .insert: .insert
        case .update: .update
        case .delete: .delete
        }
    }
  }

  /// A save, or a batch request.
  public struct Save: Sendable, Hashable, Identifiable {
    /// The number of its transaction: see ``PersistentHistoryTransaction/transactionNumber``.
    public let id: Int64
    /// When it was made.
    public let date: Date
    /// The transaction author of its context.
    public let author: String?
    /// Whether it was passed to the hub, which has not answered yet.
    public let isBeingSent: Bool
    /// The number of changed objects.
    public let objectCount: Int
    /// The size of the new values in bytes, before they are sealed.
    public let size: Int64
    /// The changes of objects, as far as they are listed.
    public let objects: [Object]

    init(_ save: PendingReport.Save) {
      (id, date, author, isBeingSent) = (save.number, save.date, save.author, save.isBeingSent)
      (objectCount, size, objects) = (save.changeCount, save.size, save.changes.map(Object.init))
    }
  }

  /// The identifier of the store.
  public let storeIdentifier: String
  /// The identity of the account's zone to which the changes are sent.
  public let zoneID: UUID
  /// The saves, the oldest first: they are sent in this order.
  public let saves: [Save]
  /// The number of objects to send that no save contains: those from before the synchronization, those that a restored hub lacks, and those
  /// that are blocked.
  public let objectCount: Int
  /// Those objects, as far as they are listed.
  public let objects: [Object]
  /// Whether objects from before the synchronization are still being added to the account. They are not counted yet.
  public let isAddingObjects: Bool
  /// The size in bytes of the sealed commit that is being sent; 0 without one.
  public let sendingBytes: Int
  /// Whether there are more objects than were requested.
  public let hasMore: Bool

  /// Whether everything was sent.
  public var isEmpty: Bool { saves.isEmpty && objectCount == 0 && !isAddingObjects }

  init(_ report: PendingReport, storeIdentifier: String) {
    self.storeIdentifier = storeIdentifier
    (zoneID, saves, objectCount) = (report.zone, report.saves.map(Save.init), report.objectCount)
    (objects, isAddingObjects) = (report.objects.map(Object.init), report.isReadingObjects)
    (sendingBytes, hasMore) = (report.sendingBytes, report.hasMore)
  }
}

extension PersistentCloudContainer {
  /// Returns what was saved and not sent yet: the saves, their objects, the changed properties and the size of their values.
  ///
  /// Reads from the store, and needs neither the hub nor the process that synchronizes the store. ``pendingCount`` is faster.
  ///
  /// ```swift
  /// let pending = try await container.pendingChanges()
  /// for save in pending.saves { print("\(save.date): \(save.objectCount) objects, \(save.size) bytes") }
  /// ```
  /// - Parameters:
  ///   - store: The store; nil for the container's only one with cloud options.
  ///   - maximumObjectCount: The maximum number of objects to list. All are counted.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store does not belong to an account, with `noCloudStore` if it has no cloud
  ///   options; ``StoreError`` if it cannot be read.
  public func pendingChanges(of store: PersistentStore? = nil, maximumObjectCount: Int = 1_000) async throws -> CloudPendingChanges {
    try await cloudStore(of: store).pendingChanges(maximumObjectCount)
  }
}
