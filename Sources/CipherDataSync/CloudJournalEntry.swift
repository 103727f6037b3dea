public import Foundation
import ObjectContext
public import ObjectModel
public import ObjectStore
import SyncCore
import SyncEngine

/// Values of an object that have lost against changes on another device: see ``PersistentCloudContainer/journal(of:)``.
public struct CloudJournalEntry: Sendable, Hashable, Identifiable {
  /// Why values have lost.
  public enum Reason: Sendable, Hashable, CaseIterable {
    /// Another device has changed the same properties, and its change is later.
    case laterChange
    /// The object was deleted on one device and changed on another one.
    case deletion
    /// The object required another one that was deleted on another device.
    case destinationDeleted
    /// Another object refers to the destination since, which admits only one.
    case destinationTaken
    /// Another object had the same values under a uniqueness constraint, and both have become one. The entry has what the object with the
    /// values of the other device lacks.
    case duplicate
    /// The function of the application that merges the attribute has failed, and the other value was saved later: see
    /// `SyncMergeFunctions`.
    case failedMerge
    /// The object was moved into another one that another device had moved into it.
    case cycle
  }

  /// The number of the entry in the journal of its store.
  public let id: Int64
  /// The identifier of the store.
  public let storeIdentifier: String
  /// Why the values have lost.
  public let reason: Reason
  /// When this device noticed it, by its clock.
  public let date: Date
  /// The name of the object's entity.
  public let entityName: String
  /// The ID that the object has, or had before it was deleted; nil if it never existed in this store.
  public let objectID: ManagedObjectID?
  /// The object's ``ManagedObject/stableID``.
  public let stableID: UUID
  /// The names of the properties that have lost a value, sorted.
  public let propertyNames: [String]
  /// The values that have lost. Those that were nil are missing.
  public let values: RecordedValues
  /// The name of the device that had written them; nil if it is not known.
  public let deviceName: String?
  /// When they were written, by the clock of that device; nil for values from before the synchronization.
  public let modificationDate: Date?
  /// The values that have won; empty if the object was deleted, or if it is not known.
  public let winningValues: RecordedValues
  /// The name of the device that has written those, or deleted the object; nil if it is not known.
  public let winningDeviceName: String?
  /// When that was saved, by the clock of that device; nil if it is not known.
  public let winningDate: Date?

  init(_ item: JournalItem, storeIdentifier: String) {
    (id, self.storeIdentifier, reason, date) = (item.number, storeIdentifier, Reason(item.reason), item.date)
    (entityName, objectID, stableID, propertyNames) = (item.entityName, item.objectID, item.stableID, item.propertyNames)
    (values, deviceName, modificationDate) = (item.values, item.author.deviceName, item.author.date)
    (winningValues, winningDeviceName, winningDate) = (item.winningValues, item.winner?.deviceName, item.winner?.date)
  }
}

extension CloudJournalEntry.Reason {
  fileprivate init(_ reason: JournalEntry.Reason) {
    self =
      switch reason {
      case .laterChange: .laterChange
      case .deletion: .deletion
      case .destinationDeleted: .destinationDeleted
      case .destinationTaken: .destinationTaken
      case .duplicate: .duplicate
      case .failedMerge: .failedMerge
      case .cycle: .cycle
      }
  }
}

extension PersistentCloudContainer {
  /// Returns the values that have lost against changes on other devices and were not restored, the oldest first.
  ///
  /// If two devices change the same property, or one deletes what the other one changes, the device that receives the other change keeps
  /// what has lost in the journal of its store. Attributes with a rule, such as counters, have no losing values. The journal is not
  /// synchronized. It needs neither the hub nor the process that synchronizes the store.
  ///
  /// ```swift
  /// for entry in try await container.journal() where entry.reason == .deletion {
  ///   _ = try await container.restore(entry)
  /// }
  /// ```
  /// - Parameter store: The store; nil for the container's only one with cloud options.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store does not belong to an account, with `noCloudStore` if it has no cloud
  ///   options; ``StoreError`` if it cannot be read.
  public func journal(of store: PersistentStore? = nil) async throws -> [CloudJournalEntry] {
    try await cloudStore(of: store).journal()
  }

  /// Gives an object the values of an entry of the journal again, as a save of a background context that is sent to the other devices.
  ///
  /// A deleted object is inserted again, as a new object with the values that it had. It refers to the same objects, or to those that were
  /// restored in their place; to-many relationships without an inverse, and members that refer to it, are not restored.
  /// - Returns: The ID of the object that has the values now.
  /// - Throws: ``SyncError`` with `notRestorable` if the entry is gone or was restored, if the object was deleted and the journal does not
  ///   have its other values, or if an object that it requires is deleted; errors of saving. Nothing is changed then.
  public func restore(_ entry: CloudJournalEntry) async throws -> ManagedObjectID {
    guard let store = cloudStore(withIdentifier: entry.storeIdentifier) else { throw SyncError(.noCloudStore) }
    return try await performBackgroundTask { context in
      try context.restore(entry.id, from: StoreReplica(store.store, of: store.coordinator)).objectID
    }
  }

  /// Removes the entries of the journal that were noticed before a date.
  ///
  /// - Parameter store: The store; nil for the container's only one with cloud options.
  /// - Returns: How many there were.
  /// - Throws: ``StoreError`` if the store cannot be written.
  @discardableResult
  public func removeJournalEntries(before date: Date, of store: PersistentStore? = nil) async throws -> Int {
    try await cloudStore(of: store).removeJournalEntries(before: date)
  }
}
