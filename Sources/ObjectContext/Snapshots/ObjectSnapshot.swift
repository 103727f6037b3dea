public import ObjectModel
import ObjectStore

/// A sendable copy of an object's values at one point in time. It can be passed to any task, compared, stored, encoded, edited, and applied
/// to a context.
///
/// ```swift
/// var snapshot: ObjectSnapshot = try author.snapshot(including: ["books"])
/// try snapshot.setValue("James Joyce", forKey: "name")
/// let edited = snapshot
/// try await container.performBackgroundTask { context in
///   try context.apply(edited)  // sets the name, and nothing else
///   try context.save()
/// }
/// ```
///
/// A snapshot contains the object's ID and version, its attributes, its to-one relationships as IDs, and the requested to-many
/// relationships as IDs. It contains no transient properties. The snapshot of an object without unsaved changes shares the object's row,
/// without copying. Large values outside the row stay in the store and are read on demand.
///
/// Generated classes have their own snapshot types with typed properties, such as `Book.Snapshot`: see ``TypedSnapshot``. <doc:Snapshots>
/// explains how snapshots are applied.
public struct ObjectSnapshot: Sendable {
  /// The values when the snapshot was taken.
  let base: RowSnapshot
  /// The values that were set since, by slot.
  var changes: [Int: SnapshotValue] = [:]
  /// The members of the included relationships, by to-many index.
  var members: [Int: [ManagedObjectID]] = [:]
  /// The members that were set since, by to-many index.
  var changedMembers: [Int: [ManagedObjectID]] = [:]
  /// The error of a setter that cannot throw; at most one.
  var failures: [KeyValueError] = []

  init(_ row: RowImage, of entity: CompiledEntity, space: UInt32) { base = RowSnapshot(row, of: entity, space: space) }

  var entity: CompiledEntity { base.entity }
  var row: RowImage { base.row }

  // MARK: Identity

  /// The object's ID; nil if the object was never saved, or if the snapshot was created for a new object.
  public var objectID: ManagedObjectID? { base.row.key > 0 ? base.objectID : nil }
  /// The name of the object's entity.
  public var entityName: String { base.entityName }
  /// The version of the row on which the snapshot is based; 0 if no store has that row, as for a new object or one with changes in a parent
  /// context.
  public var version: Int64 { base.version }

  // MARK: Content

  /// The names of all attributes and to-one relationships, and of the included to-many relationships. Parts of composites have dotted
  /// names.
  public var keys: [String] { base.keys + toMany.map(\.name) }

  /// The names of the properties that were set since the snapshot was taken. Applying the snapshot sets these.
  public var changedKeys: [String] {
    entity.slots.filter { changes[$0.index] != nil }.map(\.name)
      + entity.toManyRelationships.filter { changedMembers[$0.index] != nil }.map(\.name)
  }

  /// Whether a property was set since the snapshot was taken.
  public var hasChanges: Bool { !changes.isEmpty || !changedMembers.isEmpty }

  var toMany: [CompiledRelationship] {
    members.isEmpty && changedMembers.isEmpty
      ? [] : entity.toManyRelationships.filter { members[$0.index] != nil || changedMembers[$0.index] != nil }
  }

  /// A row with the current values, including those that were set.
  var presentRow: RowImage {
    if changes.isEmpty { return row }
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: row.entityNumber, slotCount: row.slotCount, key: row.key, version: row.version)
    for slot in entity.slots where slot.kind != .none {
      switch changes[slot.index] {
      case nil: writer.copy(slot.index, kind: slot.kind, from: row)
      case .slot(let value)?: writer.set(value, at: slot.index)
      case .external(let value)?: writer.setExternal(value, at: slot.index)
      case .object(let id)?: writer.setReference(id.reference, at: slot.index)
      }
    }
    return writer.endRow()
  }
}

extension ObjectSnapshot: Identifiable {
  /// The object's ID: see ``objectID``.
  public var id: ManagedObjectID? { objectID }
}

extension ObjectSnapshot: CustomStringConvertible, CustomReflectable {
  /// The entity, the ID, the version and the names of the properties that were set, without values.
  public var description: String {
    let identity = objectID.map { "\($0.uriString), version \(version)" } ?? "new"
    return "<\(entityName) \(identity)\(hasChanges ? ", with \(changedKeys.joined(separator: ", ")) set" : "")>"
  }

  /// A mirror that hides the values.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A value that was set on a property of a snapshot.
enum SnapshotValue: Sendable {
  /// A value or null.
  case slot(Slot)
  /// A large value that is not read yet.
  case external(ExternalData)
  /// The destination of a to-one relationship.
  case object(ManagedObjectID)

  /// The destination of a to-one relationship; nil for other values.
  var objectID: ManagedObjectID? { if case .object(let id) = self { id } else { nil } }
}
