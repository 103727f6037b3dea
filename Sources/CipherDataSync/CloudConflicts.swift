public import Foundation
public import ObjectModel
public import ObjectStore
import SyncEngine

/// What the devices of an account disagree about at present: see ``PersistentCloudContainer/conflicts(of:)``.
public struct CloudConflicts: Sendable, Hashable {
  /// A record of the hub that cannot be read. The object keeps its values, and changes of it are sent as soon as the record can be read.
  public struct UnreadableRecord: Sendable, Hashable {
    /// The stable ID of the object; nil if this store does not have it.
    public let stableID: UUID?
    /// The object; nil if this store does not have it.
    public let objectID: ManagedObjectID?
    /// The name of the object's entity; nil if it is not known.
    public let entityName: String?
    /// The names of the properties whose values wait to be sent, sorted.
    public let pendingPropertyNames: [String]

    init(_ record: OpenConflicts.UnreadableRecord) {
      (stableID, objectID) = (record.stableID, record.objectID)
      (entityName, pendingPropertyNames) = (record.entityName, record.pendingNames)
    }
  }

  /// The identifier of the store.
  public let storeIdentifier: String
  /// The entries of the journal that are still undecided, the oldest first. Restore one to choose the value that has lost.
  public let values: [CloudJournalEntry]
  /// The records that cannot be read, those of known objects first.
  public let unreadableRecords: [UnreadableRecord]

  /// Whether there are no conflicts.
  public var isEmpty: Bool { values.isEmpty && unreadableRecords.isEmpty }

  init(_ conflicts: OpenConflicts, storeIdentifier: String) {
    self.storeIdentifier = storeIdentifier
    values = conflicts.values.map { CloudJournalEntry($0, storeIdentifier: storeIdentifier) }
    unreadableRecords = conflicts.unreadable.map(UnreadableRecord.init)
  }
}

extension PersistentCloudContainer {
  /// Returns what the devices disagree about at present.
  ///
  /// The ``journal(of:)`` lists everything that has lost. A conflict is open as long as the object is as the winner has left it: the property
  /// has the value that has won, or the object is deleted. It ends when the entry is restored or removed, or when any device sets the
  /// property to another value, which is a decision. Records that cannot be read are conflicts too.
  ///
  /// Reads from the store, and needs neither the hub nor the process that synchronizes the store.
  /// - Parameter store: The store; nil for the container's only one with cloud options.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store does not belong to an account, with `noCloudStore` if it has no cloud
  ///   options; ``StoreError`` if it cannot be read.
  public func conflicts(of store: PersistentStore? = nil) async throws -> CloudConflicts { try await cloudStore(of: store).conflicts() }
}
