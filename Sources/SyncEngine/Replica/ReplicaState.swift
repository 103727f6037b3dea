package import SyncCore

/// What a store knows of its synchronization, apart from its records.
package struct ReplicaState: Hashable, Codable, Sendable {
  /// The key of the state in its table.
  static let name = "state"

  package var zoneID: ZoneID
  package var zone: ZoneState
  /// The lineage of the store's file that the device's identity belongs to.
  package var lineage: String
  /// The device of additions of links, while the store is a copy that has no identity of its own yet.
  package var copy: DeviceID?
  /// The progress of adding the objects that were there before; nil if that is complete.
  package var baseline: BaselineProgress?
  /// The last transaction of the history before which there are no pending saves.
  package var readThrough: Int64 = 0
  /// A random number that a replica chose when it began to fill the table of pending changes; nil if the table is empty.
  package var storedChanges: UInt64?
  /// Whether synchronization has switched on the history, which is then deleted as soon as it was read.
  package var ownsHistory = false
  /// The checksum of the model by which the objects were last made from the records.
  package var modelChecksum = ""

  /// The last transaction of the history that need not be read again.
  var consumedThrough: Int64 { max(readThrough, zone.settledThrough) }

  package init(zoneID: ZoneID, zone: ZoneState, lineage: String) { (self.zoneID, self.zone, self.lineage) = (zoneID, zone, lineage) }
}

/// The objects that have been added to the zone: all those of entities before one, and those of this entity up to a key. After all entities,
/// the links of relationships are added in the same way.
package struct BaselineProgress: Hashable, Codable, Sendable {
  package var entity = 0
  package var key: Int64 = 0
  /// The key of the last link's destination.
  package var destination: Int64?
  /// The number of added objects.
  package var count = 0

  package init() {}

  /// Returns whether nothing is left to add.
  func isComplete(_ schema: SyncSchema) -> Bool { entity >= schema.entities.count + schema.links.count }
}
