public import ObjectModel

/// A conflict between an object and its row, which was changed or deleted elsewhere after the object was read.
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
/// If the merge policy does not resolve the conflicts of a save, the save throws ``StoreError`` with ``StoreError/Code/mergeConflict``. The
/// error lists all conflicts in ``StoreError/mergeConflicts``. A ``MergeResolver`` receives them one at a time.
///
/// ``objectSnapshot`` contains the values of the object, ``storeSnapshot`` the values in the store, and ``originalSnapshot`` the values
/// that both sides started from. A conflict is a value and can leave the context's isolation.
public struct MergeConflict: Sendable {
  /// The ID of the object.
  public let objectID: ManagedObjectID
  /// The version that the context read.
  public let oldVersion: Int64
  /// The version in the store, or 0 if the row was deleted.
  public let newVersion: Int64
  /// The row in the store, or nil if it was deleted. ``storeSnapshot`` provides its values by name.
  package let persistedRow: RowImage?
  /// The row in the coordinator's cache when the conflict was found.
  package var cachedRow: RowImage?
  /// The values of the object in its context, including unsaved changes. Set by the context.
  public package(set) var objectSnapshot: RowSnapshot?
  /// The values in the coordinator's row cache. Set by the context.
  ///
  /// If another context of the coordinator saved the row, or the coordinator has read it since, these are the other side's values, and
  /// ``persistedSnapshot`` is nil. If another process or coordinator saved the row, these are the older values that were still cached. Nil
  /// if the coordinator has recorded that the row was deleted.
  public package(set) var cachedSnapshot: RowSnapshot?
  /// The values in the store, if they differ from the coordinator's. Nil if ``cachedSnapshot`` already contains them or the row was
  /// deleted. Set by the context.
  public package(set) var persistedSnapshot: RowSnapshot?
  /// The values that the context last read or saved, before the object was changed. Set by the context. Core Data has no counterpart.
  public package(set) var originalSnapshot: RowSnapshot?
  /// Whether the save was to delete the object. Set by the context.
  public package(set) var isDeletion = false
  /// The properties that both sides changed to different values, for a conflict from applying a snapshot. Empty for the conflict of a save:
  /// compare its snapshots instead.
  public package(set) var propertyNames: [String] = []

  /// The values on the other side, for every kind of conflict. Nil if the row was deleted.
  public var storeSnapshot: RowSnapshot? { persistedRow == nil ? nil : persistedSnapshot ?? cachedSnapshot }

  /// Creates a conflict.
  ///
  /// - Parameters:
  ///   - objectID: The ID of the object.
  ///   - oldVersion: The version that the save expected.
  ///   - newVersion: The version in the store, or 0 if the row was deleted.
  ///   - persistedRow: The row in the store, or nil if it was deleted.
  public init(objectID: ManagedObjectID, oldVersion: Int64, newVersion: Int64, persistedRow: RowImage?) {
    self.objectID = objectID
    self.oldVersion = oldVersion
    self.newVersion = newVersion
    self.persistedRow = persistedRow
  }
}

/// A conflict between objects that have the same values for the properties of a uniqueness constraint.
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
/// If the merge policy does not resolve the conflicts of a save, the save throws ``StoreError`` with
/// ``StoreError/Code/constraintConflict``. The error lists all conflicts in ``StoreError/constraintConflicts``. ``databaseObjectID`` is the
/// object that was stored first; ``objectIDs`` are the objects of the save. Stores look for the conflicting objects only after a save has
/// failed, so successful saves pay nothing.
public struct ConstraintConflict: Sendable {
  /// The entity that declares the constraint.
  public let entityName: String
  /// The names of the properties of the constraint.
  public let constraint: [String]
  /// The IDs of the saved objects that are in conflict.
  public let objectIDs: [ManagedObjectID]
  /// The ID of the stored object that has the values, or nil if only objects of the save conflict with each other.
  public let databaseObjectID: ManagedObjectID?
  /// The values of the saved objects, in the order of ``objectIDs``. Set by the context.
  public package(set) var objectSnapshots: [RowSnapshot] = []
  /// The values of the stored object. Set by the context.
  public package(set) var databaseSnapshot: RowSnapshot?

  /// Creates a conflict.
  ///
  /// - Parameters:
  ///   - entityName: The entity that declares the constraint.
  ///   - constraint: The names of the properties of the constraint.
  ///   - objectIDs: The IDs of the saved objects that have the values.
  ///   - databaseObjectID: The ID of the stored object that has them, or nil if only objects of the save conflict with each other.
  public init(entityName: String, constraint: [String], objectIDs: [ManagedObjectID], databaseObjectID: ManagedObjectID?) {
    self.entityName = entityName
    self.constraint = constraint
    self.objectIDs = objectIDs
    self.databaseObjectID = databaseObjectID
  }
}

/// The attributes and to-one relationships of an object at a point in time, by name.
///
/// A snapshot has no to-many relationships, because rows do not contain them. The description and the mirror list the properties that have
/// a value, but never the values.
public struct RowSnapshot: Sendable, CustomStringConvertible, CustomReflectable {
  /// The ID of the object.
  public let objectID: ManagedObjectID
  package let entity: CompiledEntity
  package let row: RowImage

  package init(_ row: RowImage, of entity: CompiledEntity, space: UInt32) {
    self.row = row
    self.entity = entity
    objectID = ManagedObjectID(space: space, entityNumber: UInt32(row.entityNumber), key: row.key)
  }

  /// The name of the object's entity.
  public var entityName: String { entity.name }
  /// The version of the row.
  public var version: Int64 { row.version }
  /// The names of all properties, with or without a value. Attributes of composites have dotted names.
  public var keys: [String] { entity.slots.lazy.filter { $0.kind != .none }.map(\.name) }

  /// The value of a property: for an attribute, a value of the type that ``AttributeType`` documents; for a to-one relationship, the ID of
  /// the destination.
  ///
  /// Nil if the property has no value or the entity has no such property. If a `transformable` attribute has no transformer, or its
  /// transformer fails, the value is the stored bytes; see ``value(_:as:)``.
  /// - Throws: ``StoreError`` if the stored value cannot be read.
  public subscript(key: String) -> (any Sendable)? {
    get throws {
      guard let slot = entity.slot(named: key), slot.kind != .none else { return nil }
      if slot.kind == .reference { return destination(slot) }
      guard let attribute = slot.attribute else { return nil }
      let stored = try row.value(slot.index, of: entity, objectID)
      if let value = try? AttributeConversion.untypedValue(of: stored, attribute) { return value }
      switch stored {
      case .null: return nil
      // A failing transformer does not mean that the stored bytes are damaged.
      case .bytes(let data) where attribute.type == .transformable: return data
      default: throw StoreError(.unreadableValue(entity: entity.name, property: key, objectID), operation: .read)
      }
    }
  }

  /// Returns the value of a property as the given type: a type that its attribute supports, ``ManagedObjectID``, or the type of a
  /// `transformable` attribute.
  ///
  /// - Returns: The value, or nil if the property has no value or the entity has no such property.
  /// - Throws: ``StoreError`` if the stored value cannot be read, the transformer's error if it fails, or an error if the value is of
  ///   another type.
  public func value<Value>(_ key: String, as type: Value.Type = Value.self) throws -> Value? {
    guard let slot = entity.slot(named: key), slot.kind != .none else { return nil }
    if slot.kind == .reference { return destination(slot) as? Value }
    guard let attribute = slot.attribute else { return nil }
    return try AttributeConversion.value(of: row.value(slot.index, of: entity, objectID), attribute, as: type)
  }

  /// Returns the names of the properties whose values differ from those of another snapshot.
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

  /// The entity, the ID, the version, and the names of the properties that have a value.
  public var description: String {
    let names = entity.slots.lazy.filter { $0.kind != .none && !row.isNull($0.index) }.map(\.name)
    return "<\(entityName) \(objectID.uriString), version \(version), with \(names.joined(separator: ", "))>"
  }

  /// A mirror that contains only the description, so that no values are exposed.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension CompiledEntity {
  /// Returns the slot of an attribute, an attribute of a composite, or a to-one relationship.
  package func slot(named name: String) -> CompiledSlot? {
    switch property(named: name) {
    case .attribute(let slot): slot
    case .toOne(let relationship): slots[relationship.index]
    case .toMany, .composite, .fetched, nil: nil
    }
  }
}
