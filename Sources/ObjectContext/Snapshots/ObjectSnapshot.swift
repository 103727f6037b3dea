// ObjectSnapshot: the values of an object at some time, which may go to any task.
public import ObjectModel
import ObjectStore

/// The values of an object as they were at some time: a value that may go to any task, be compared, kept and encoded, and be applied to a context again.
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
/// It has the object's ID and version, its attributes, its to-one relationships as IDs, and those to-many relationships as IDs that were asked for. Transient
/// properties are in no snapshot. A snapshot of an object without unsaved changes shares the object's row: nothing is copied. A large value outside the row
/// stays in the store, and is read when it is asked for.
///
/// Generated classes have a type of their own, such as `Book.Snapshot`, with typed properties: see ``TypedSnapshot``. <doc:Snapshots> says what applying does.
public struct ObjectSnapshot: Sendable {
  /// The values as they were.
  let base: RowSnapshot
  /// What was set since, by slot.
  var changes: [Int: SnapshotValue] = [:]
  /// The members of the relationships that were asked for, by to-many index.
  var members: [Int: [ManagedObjectID]] = [:]
  /// The members that were set since, by to-many index.
  var changedMembers: [Int: [ManagedObjectID]] = [:]
  /// What setters could not throw: at most one.
  var failures: [KeyValueError] = []

  init(_ row: RowImage, of entity: CompiledEntity, space: UInt32) { base = RowSnapshot(row, of: entity, space: space) }

  var entity: CompiledEntity { base.entity }
  var row: RowImage { base.row }

  // MARK: Identity

  /// The object's ID; nil of one that was never saved, and of a snapshot that was made from nothing.
  public var objectID: ManagedObjectID? { base.row.key > 0 ? base.objectID : nil }
  /// The name of the object's entity.
  public var entityName: String { base.entityName }
  /// The version of the row that the values began with. It is 0 where no store has that row: of a new object, and of one that a parent context has changed.
  public var version: Int64 { base.version }

  // MARK: What it has

  /// The names of the attributes and to-one relationships, with or without a value, and of the to-many relationships that the snapshot has. Parts of composites
  /// have dotted names.
  public var keys: [String] { base.keys + toMany.map(\.name) }

  /// The names of the properties that were set since the snapshot was taken: what applying it sets.
  public var changedKeys: [String] {
    entity.slots.filter { changes[$0.index] != nil }.map(\.name)
      + entity.toManyRelationships.filter { changedMembers[$0.index] != nil }.map(\.name)
  }

  /// Whether a property was set since the snapshot was taken.
  public var hasChanges: Bool { !changes.isEmpty || !changedMembers.isEmpty }

  /// The to-many relationships that the snapshot has.
  var toMany: [CompiledRelationship] {
    members.isEmpty && changedMembers.isEmpty
      ? [] : entity.toManyRelationships.filter { members[$0.index] != nil || changedMembers[$0.index] != nil }
  }

  /// The values as they are now, what was set included, as one row.
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
  /// The entity, the ID, the version and the names of the properties that were set. No value is shown.
  public var description: String {
    let place = objectID.map { "\($0.uriString), version \(version)" } ?? "new"
    return "<\(entityName) \(place)\(hasChanges ? ", with \(changedKeys.joined(separator: ", ")) set" : "")>"
  }

  /// A mirror that shows no values either.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// What a property of a snapshot was set to.
enum SnapshotValue: Sendable {
  /// A value, or none.
  case slot(Slot)
  /// A large value that is not read.
  case external(ExternalData)
  /// The destination of a to-one relationship.
  case object(ManagedObjectID)

  /// The destination; nil of other values.
  var objectID: ManagedObjectID? { if case .object(let id) = self { id } else { nil } }
}
