import Foundation
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

// MARK: - Creating snapshots

extension ObjectSnapshot {
  /// Creates a snapshot for a new object, with the model's default values. Applying it inserts an object.
  ///
  /// - Parameters:
  ///   - entityName: The entity.
  ///   - model: The model of the contexts to which the snapshot will be applied.
  /// - Throws: ``ModelValidationError`` with the issues of the model; ``StoreError`` with ``StoreError/Code/invalidRequest`` if the entity
  ///   does not exist or is abstract.
  public init(entityName: String, model: ManagedObjectModel) throws {
    let compiled = try CompiledModel.compiling(model)
    guard let entity = compiled.entity(named: entityName) else {
      throw StoreError(.unknownEntity(entityName, known: compiled.entities.map(\.name)), operation: .takeSnapshot)
    }
    if entity.isAbstract { throw StoreError(.abstractEntity(entityName), operation: .insert) }
    self.init(newObjectOf: entity, space: ObjectIDSpace.register(storeIdentifier: nil, model: compiled).number)
  }

  private init(newObjectOf entity: CompiledEntity, space: UInt32) {
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: 0, version: 0)
    for index in entity.slotsWithDefaults where entity.slots[index].kind != .none && !entity.slots[index].isDerived {
      writer.set(entity.slots[index].defaultValue, at: index)
    }
    self.init(writer.endRow(), of: entity, space: space)
  }

  /// Returns the distinct members in a defined order: their own for an ordered relationship, else by store, entity and key.
  static func ordered(_ ids: some Sequence<ManagedObjectID>, of relationship: CompiledRelationship) -> [ManagedObjectID] {
    var seen = Set<ManagedObjectID>()
    let distinct = ids.filter { seen.insert($0).inserted }
    if relationship.isOrdered { return distinct }
    return distinct.sorted { ($0.space, $0.entityNumber, $0.key) < ($1.space, $1.entityNumber, $1.key) }
  }
}

// MARK: - Reading slots

extension ObjectSnapshot {
  /// Returns the slot with an index; nil if snapshots have no such value.
  func slot(_ index: Int) -> CompiledSlot? {
    guard entity.slots.indices.contains(index), entity.slots[index].kind != .none else { return nil }
    return entity.slots[index]
  }

  /// Returns the value of an existing slot. Reads a large value.
  ///
  /// - Throws: ``StoreError`` if the value cannot be read.
  func stored(_ index: Int) throws -> Slot {
    switch changes[index] {
    case nil: try row.value(index, of: entity, objectID)
    case .slot(let value)?: value
    case .external(let value)?: .bytes(try value.data())
    case .object(let id)?: .int(id.reference.rawValue)
    }
  }

  /// Returns whether an existing slot has a value, including an unreadable one.
  func hasValue(_ index: Int) -> Bool {
    if let change = changes[index] { return change != .slot(.null) }
    return !row.isNull(index) || row.isUnreadable(index)
  }

  /// Returns the large value of an existing slot without reading it; nil if it is null.
  func external(_ index: Int) -> ExternalData? {
    switch changes[index] {
    case nil: row.isNull(index) ? nil : row.external(index) ?? ExternalData(Data(row.bytes(index)))
    case .external(let value)?: value
    case .slot(.bytes(let bytes))?: ExternalData(bytes)
    default: nil
    }
  }

  func destination(_ index: Int) -> ManagedObjectID? {
    guard let change = changes[index] else { return destination(row.reference(index)) }
    if case .object(let id) = change { return id }
    return nil
  }

  private func destination(_ reference: ObjectReference) -> ManagedObjectID? {
    if reference.isNull { return nil }
    var space = base.objectID.space
    if reference.key < 0, let own = ObjectIDSpace.space(space) {
      // The destination was unsaved when the snapshot was taken.
      space = ObjectIDSpace.register(storeIdentifier: nil, model: own.model).number
    }
    return ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
  }

  // MARK: Setting

  /// Sets a value and marks it as changed. Records an error for a derived attribute.
  mutating func set(_ value: SnapshotValue, at index: Int) {
    guard let slot = slot(index) else { return }
    if slot.isDerived { return fail(derivedError(slot)) }
    changes[index] = value
  }

  /// Records the first error of a setter that cannot throw. Applying the snapshot throws it.
  mutating func fail(_ error: KeyValueError) {
    if failures.isEmpty { failures.append(error) }
  }

  func derivedError(_ slot: CompiledSlot) -> KeyValueError {
    KeyValueError(.readOnly, key: slot.name, entityName: entityName, detail: "its value is derived, by the store")
  }
}

// MARK: - Equality and hashing

extension ObjectSnapshot: Hashable {
  /// Returns whether two snapshots are of the same version of the same object, or both without an object, and have equal values and equal
  /// changes.
  ///
  /// Large values in a store are not read for the comparison: a rewritten value counts as different.
  public static func == (left: ObjectSnapshot, right: ObjectSnapshot) -> Bool {
    guard left.base.objectID == right.base.objectID || left.objectID == nil && right.objectID == nil, left.version == right.version,
      left.entity === right.entity || left.isOfLayout(of: right.entity), left.members == right.members,
      left.changedMembers == right.changedMembers, left.changes == right.changes
    else { return false }
    if left.row.base == right.row.base { return true }
    return left.entity.slots.allSatisfy { $0.kind == .none || left.row.hasSameValue($0.index, kind: $0.kind, as: right.row) }
  }

  /// Hashes the compared values except large ones.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(objectID)
    hasher.combine(version)
    for slot in entity.slots {
      if let change = changes[slot.index] { hasher.combine(change) }
      if row.isNull(slot.index) { continue }
      switch slot.kind {
      case .int, .reference: hasher.combine(row.word(slot.index))
      case .real: hasher.combine(row.real(slot.index))
      case .text: hasher.combine(bytes: row.bytes(slot.index))
      case .bytes, .none: break
      }
    }
    hasher.combine(members)
    hasher.combine(changedMembers)
  }

  /// Returns whether another entity has the same name and layout as the snapshot's.
  func isOfLayout(of other: CompiledEntity) -> Bool {
    entity.name == other.name && entity.layoutFingerprint == other.layoutFingerprint
  }
}

extension SnapshotValue: Hashable {
  static func == (left: SnapshotValue, right: SnapshotValue) -> Bool {
    switch (left, right) {
    // NaN does not equal itself; compare the bits.
    case (.slot(.real(let left)), .slot(.real(let right))): left == right || left.bitPattern == right.bitPattern
    case (.slot(let left), .slot(let right)): left == right
    case (.external(let left), .external(let right)): left.isIdentical(to: right)
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .slot(let value): hasher.combine(value)
    case .external: hasher.combine(1)
    case .object(let id): hasher.combine(id)
    }
  }
}
