package import Foundation
package import ObjectModel
package import ObjectStore
import SyncCore

/// The record of an object as the hub has it, as far as this device knows.
package struct ObjectRecord: Hashable, Sendable {
  /// The ID of the record, which is the stable ID of the object.
  package let id: UUID
  /// The name of the object's entity.
  package let entityName: String
  /// The attributes and to-one relationships.
  package let values: RecordedValues
  /// When and on which device the latest of the values was written. The date is nil for values from before the synchronization. The device
  /// has no name if its certificate was never needed.
  package let modificationDate: Date?
  package let deviceName: String?
  /// Whether the store contains changes of the object that the hub has not accepted.
  package let isPending: Bool
}

extension StoreReplica {
  /// Returns the records of objects, without those that the hub has not accepted yet. Waits for no other process.
  ///
  /// - Parameter objects: Objects with permanent IDs.
  /// - Returns: The records by object; empty if the store is not synchronized.
  package func objectRecords(of objects: [ObjectReference]) throws -> [ObjectReference: ObjectRecord] {
    if objects.isEmpty { return [:] }
    let ids = try history.stableIDs(of: objects)
    return try snapshot {
      guard let state = try replicaState() else { return [:] }
      var names = try deviceNames()
      names[state.zone.device] = try accountState().deviceName
      let pending = try reader.changedObjects(among: Set(objects), after: state.consumedThrough)
      var records: [ObjectReference: ObjectRecord] = [:]
      for (object, uuid) in zip(objects, ids) {
        guard let uuid, let entry = try row(of: RecordID(uuid))?.entry, let record = entry.base?.record, let stamp = record.latestStamp,
          !record.isDeleted
        else { continue }
        records[object] = ObjectRecord(
          id: uuid, entityName: schema.model.entities[object.entity].name, values: try values(of: record, object.entity),
          modificationDate: stamp.time.date,
          deviceName: names[stamp.device],
          isPending: entry.isUnsent || pending.contains(object))
      }
      return records
    }
  }

  /// Returns the values of a record that the model has.
  func values(of record: Record, _ number: Int) throws -> RecordedValues {
    let (entity, compiled) = (schema.entities[number], schema.model.entities[number])
    var values: [String: RecordedValues.Value] = [:]
    for field in record.fields {
      guard let property = entity.property(field.property) else { continue }
      let name = compiled.slots[property.slot].name
      if property.kind == .reference {
        guard let destination = try field.value.reference.flatMap({ try row(of: $0)?.object }) else { continue }
        values[name] = .object(store.space.objectID(of: destination))
      } else if let asset = field.value.asset {
        values[name] = .large(size: asset.size, digest: asset.digest.allBytes)
      } else if let slot = field.value.resolved.slot(property.kind), slot != .null {
        values[name] = .attribute(slot)
      }
    }
    return RecordedValues(values, of: compiled)
  }
}

extension HybridTime {
  /// The date; nil if it is from before the synchronization.
  var date: Date? { milliseconds == 0 ? nil : Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

// MARK: - Names of devices

extension StoreReplica {
  /// The name under which the names of devices are stored.
  private static let devices = "devices"

  /// Returns the names of the account's devices, as far as they are known.
  func deviceNames() throws -> [DeviceID: String] {
    guard let stored = try storedValue(Self.devices) else { return [:] }
    return try JSONDecoder().decode([DeviceID: String].self, from: stored)
  }

  /// Stores the names of devices, unless they are stored already.
  func setDeviceNames(_ names: [DeviceID: String]) throws {
    try transaction { if try deviceNames() != names { try store(try JSONEncoder().encode(names), as: Self.devices) } }
  }
}
