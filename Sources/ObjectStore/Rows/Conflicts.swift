// Conflicts: what stands in the way of a save: rows that others changed, and unique values that are taken.
public import ObjectModel

/// A row that was changed or deleted by somebody else since it was read.
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as StoreError where error.code == .mergeConflict {
///   for conflict in error.mergeConflicts {
///     let (here, there) = (try conflict.objectSnapshot?["title"], try conflict.storeSnapshot?["title"])
///     print(here ?? "none", "here,", there ?? "none", "in the store")
///   }
/// }
/// ```
///
/// A save that meets such rows, under a policy that does not resolve them, throws ``StoreError`` with ``StoreError/Code/mergeConflict``, and has all of them in
/// ``StoreError/mergeConflicts``. A ``MergeResolver`` is given them one by one. ``objectSnapshot`` has the values of this side, ``storeSnapshot`` those of the
/// other, and ``originalSnapshot`` those that both began with. A conflict is a value: it may leave the context's isolation.
public struct MergeConflict: Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The version that was read.
  public let oldVersion: Int64
  /// The version in the store; 0 when the row is gone.
  public let newVersion: Int64
  /// The row in the store; nil when it is gone. ``storeSnapshot`` has its values by name.
  package let persistedRow: RowImage?
  /// The row that the coordinator had at hand when the conflict was found.
  package var cachedRow: RowImage?
  /// The values that the object has in its context, unsaved changes included. Contexts fill it in.
  public package(set) var objectSnapshot: RowSnapshot?
  /// The values that the coordinator has. Contexts fill it in.
  ///
  /// Where another context of the coordinator has saved, or the coordinator has read the row since, they are the other side's, and ``persistedSnapshot`` is
  /// nil. Where another process or coordinator has, they are the older ones that the coordinator still had. They are nil when the coordinator knows that the
  /// row is gone.
  public package(set) var cachedSnapshot: RowSnapshot?
  /// The values in the store, where they differ from those that the coordinator has; nil when the coordinator has them (``cachedSnapshot``), or the row is
  /// gone. Contexts fill it in.
  public package(set) var persistedSnapshot: RowSnapshot?
  /// The values that the object's changes began with: those that its context has read or saved last. Core Data has no counterpart. Contexts fill it in.
  public package(set) var originalSnapshot: RowSnapshot?
  /// Whether the save was to delete the object. Contexts fill it in.
  public package(set) var isDeletion = false
  /// The properties that both sides have changed to different values, where a snapshot was applied; empty for a save, whose snapshots tell.
  public package(set) var propertyNames: [String] = []

  /// The other side's values, whichever kind of conflict it is; nil when the row is gone.
  public var storeSnapshot: RowSnapshot? { persistedRow == nil ? nil : persistedSnapshot ?? cachedSnapshot }

  /// Makes a conflict.
  ///
  /// - Parameters:
  ///   - objectID: The object.
  ///   - oldVersion: The version that the save began with.
  ///   - newVersion: The version in the store; 0 where the row is gone.
  ///   - persistedRow: The row in the store; nil where it is gone.
  public init(objectID: ManagedObjectID, oldVersion: Int64, newVersion: Int64, persistedRow: RowImage?) {
    self.objectID = objectID
    self.oldVersion = oldVersion
    self.newVersion = newVersion
    self.persistedRow = persistedRow
  }
}

/// Objects that have the same values under a uniqueness constraint.
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as StoreError where error.code == .constraintConflict {
///   for conflict in error.constraintConflicts {
///     print(conflict.objectIDs, "have the \(conflict.constraint) of", conflict.databaseObjectID ?? "each other")
///   }
/// }
/// ```
///
/// A save that meets such objects, under a policy that does not resolve them, throws ``StoreError`` with ``StoreError/Code/constraintConflict``, and has all
/// clashes in ``StoreError/constraintConflicts``. ``databaseObjectID`` is the object that was there first, ``objectIDs`` are those of the save. Finding the
/// clashes costs something only after a save has failed.
public struct ConstraintConflict: Sendable {
  /// The entity that declares the constraint.
  public let entityName: String
  /// The names of the constraint's properties.
  public let constraint: [String]
  /// The objects of the save that are in conflict.
  public let objectIDs: [ManagedObjectID]
  /// The object in the store that has the values; nil when only objects of the save clash.
  public let databaseObjectID: ManagedObjectID?
  /// The values of the objects of the save, in their order. Contexts fill it in.
  public package(set) var objectSnapshots: [RowSnapshot] = []
  /// The values of the object in the store. Contexts fill it in.
  public package(set) var databaseSnapshot: RowSnapshot?

  /// Makes a conflict.
  ///
  /// - Parameters:
  ///   - entityName: The entity that declares the constraint.
  ///   - constraint: The properties whose values are to be unique.
  ///   - objectIDs: The objects of the save that have the values.
  ///   - databaseObjectID: The object of the store that has them; nil where only the save's own clash.
  public init(entityName: String, constraint: [String], objectIDs: [ManagedObjectID], databaseObjectID: ManagedObjectID?) {
    self.entityName = entityName
    self.constraint = constraint
    self.objectIDs = objectIDs
    self.databaseObjectID = databaseObjectID
  }
}

/// The attributes and to-one relationships of an object as they were at some time, by name. To-many relationships are in no row.
///
/// Its printed form names the properties that have a value, and shows none.
public struct RowSnapshot: Sendable, CustomStringConvertible, CustomReflectable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The entity.
  package let entity: CompiledEntity
  /// The values.
  package let row: RowImage

  /// The values of a row of an entity.
  package init(_ row: RowImage, of entity: CompiledEntity, space: UInt32) {
    self.row = row
    self.entity = entity
    objectID = ManagedObjectID(space: space, entityNumber: UInt32(row.entityNumber), key: row.key)
  }

  /// The name of the object's entity.
  public var entityName: String { entity.name }
  /// The row's version.
  public var version: Int64 { row.version }
  /// The names of the properties, with or without a value. Parts of composites have dotted names.
  public var keys: [String] { entity.slots.lazy.filter { $0.kind != .none }.map(\.name) }

  /// The value of an attribute as ``AttributeType`` says, or the ID of a to-one relationship's destination; nil when there is none, or no such property.
  ///
  /// A `transformable` attribute without a transformer, or whose transformer fails, gives its bytes; see ``value(_:as:)``.
  /// - Throws: ``StoreError`` where there is a value that cannot be read.
  public subscript(key: String) -> (any Sendable)? {
    get throws {
      guard let slot = entity.slot(named: key), slot.kind != .none else { return nil }
      if slot.kind == .reference { return destination(slot) }
      guard let attribute = slot.attribute else { return nil }
      let stored = try row.value(slot.index, of: entity, objectID)
      if let value = try? AttributeConversion.untypedValue(of: stored, attribute) { return value }
      switch stored {
      case .null: return nil
      // What a transformer makes of it is nobody's damage.
      case .bytes(let data) where attribute.type == .transformable: return data
      default: throw StoreError(.unreadableValue(entity: entity.name, property: key, objectID), operation: .read)
      }
    }
  }

  /// The value of a property as a type: one of an attribute's, ``ManagedObjectID``, or that of a `transformable` attribute.
  ///
  /// - Returns: The value; nil when there is none, or no such property.
  /// - Throws: ``StoreError`` where there is a value that cannot be read; what a transformer throws, and an error where the value is of another type.
  public func value<Value>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
    guard let slot = entity.slot(named: key), slot.kind != .none else { return nil }
    if slot.kind == .reference { return destination(slot) as? Value }
    guard let attribute = slot.attribute else { return nil }
    return try AttributeConversion.value(of: row.value(slot.index, of: entity, objectID), attribute, as: type)
  }

  /// The names of the properties whose values differ from another snapshot's.
  public func keys(differingFrom other: RowSnapshot) -> [String] {
    guard other.entity === entity else { return keys }
    return entity.slots.lazy.filter { slot in
      slot.kind != .none && !row.hasSameContent(slot.index, kind: slot.kind, as: other.row)
    }.map(\.name)
  }

  private func destination(_ slot: CompiledSlot) -> ManagedObjectID? {
    let reference = row.reference(slot.index)
    if reference.isNull { return nil }
    return ManagedObjectID(space: objectID.space, entityNumber: UInt32(reference.entity), key: reference.key)
  }

  /// The entity, the version and the names of the properties that have a value.
  public var description: String {
    let names = entity.slots.lazy.filter { $0.kind != .none && !row.isNull($0.index) }.map(\.name)
    return "<\(entityName) \(objectID.uriString), version \(version), with \(names.joined(separator: ", "))>"
  }

  /// A mirror that shows no values either.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension CompiledEntity {
  /// The slot of an attribute, a part of a composite, or a to-one relationship.
  package func slot(named name: String) -> CompiledSlot? {
    switch property(named: name) {
    case .attribute(let slot): slot
    case .toOne(let relationship): slots[relationship.index]
    case .toMany, .composite, .fetched, nil: nil
    }
  }
}
