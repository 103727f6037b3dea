public import Foundation
import ObjectContext
public import ObjectModel
public import ObjectStore
import SyncEngine

/// The record of an object: what the hub has of it, as far as this device knows.
///
/// ``PersistentCloudContainer/record(for:)`` returns it. The hub itself cannot read any of this: its records are sealed.
public struct CloudRecord: Sendable, Hashable, Identifiable {
  /// The ID of the record, the same on all devices: the object's ``ManagedObject/stableID``.
  public let recordID: UUID
  /// The ID of the object in this store.
  public let objectID: ManagedObjectID
  /// The name of the object's entity.
  public let entityName: String
  /// The values of the attributes and of the to-one relationships on the hub, by name. The object can have newer ones, see ``isPending``.
  public let values: RecordedValues
  /// When the latest of the values was saved, by the clock of the device that saved it; nil if all are from before the synchronization.
  public let modificationDate: Date?
  /// The name of the device that wrote the latest of the values; nil if it is not known.
  public let modifiedByDevice: String?
  /// Whether the store contains changes of the object that the hub has not accepted yet.
  public let isPending: Bool

  /// The ID of the record.
  public var id: UUID { recordID }

  /// The value of an attribute, or the ID of a destination. Nil if it is null. Numbers are as in ``RecordedValues``.
  public subscript(name: String) -> (any Sendable)? { values[name] }

  init(_ record: ObjectRecord, of object: ManagedObjectID) {
    (recordID, objectID, entityName, values) = (record.id, object, record.entityName, record.values)
    (modificationDate, modifiedByDevice, isPending) = (record.modificationDate, record.deviceName, record.isPending)
  }
}

extension PersistentCloudContainer {
  /// Returns the record of an object, or nil if the hub does not have the object yet, or its store is not synchronized.
  ///
  /// Reads from the store, not from the hub. For many objects use ``records(for:)``.
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func record(for objectID: ManagedObjectID) throws -> CloudRecord? { try records(for: [objectID])[objectID] }

  /// Returns the records of objects, without those that the hub does not have yet; see ``record(for:)``.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read.
  public func records(for objectIDs: [ManagedObjectID]) throws -> [ManagedObjectID: CloudRecord] {
    var records: [ManagedObjectID: CloudRecord] = [:]
    for (store, objectIDs) in Dictionary(grouping: objectIDs, by: { persistentStoreCoordinator.persistentStore(of: $0)?.identifier }) {
      guard let cloudStore = cloudStore(withIdentifier: store) else { continue }
      for (id, record) in try cloudStore.records(of: objectIDs) { records[id] = CloudRecord(record, of: id) }
    }
    return records
  }

  /// Returns the ID of the record of an object, or nil if the hub does not have the object yet; see ``record(for:)``.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func recordID(for objectID: ManagedObjectID) throws -> UUID? { try record(for: objectID)?.recordID }

  /// Returns the IDs of the records of objects, without those that the hub does not have yet; see ``record(for:)``.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read.
  public func recordIDs(for objectIDs: [ManagedObjectID]) throws -> [ManagedObjectID: UUID] {
    try records(for: objectIDs).mapValues(\.recordID)
  }
}
