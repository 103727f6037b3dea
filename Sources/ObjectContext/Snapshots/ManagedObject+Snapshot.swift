// ManagedObject+Snapshot: snapshots of objects as they are now.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// The object's values as they are now, unsaved changes included, as a value that may go to any task. Fires a fault.
  ///
  /// Of an object without unsaved changes it shares the row, and copies nothing. Generated classes have a function of the same name that gives a typed one.
  ///
  /// - Parameter relationships: The to-many relationships whose members the snapshot has, as IDs. They are read if need be.
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` where the object's row is gone, or its context; what keeps a row or members from being
  ///   read; ``KeyValueError`` for a name that is no to-many relationship's.
  @_disfavoredOverload public final func snapshot(including relationships: [String] = []) throws -> ObjectSnapshot {
    try _snapshot(including: relationships)
  }

  /// The object's values: what the functions of generated classes call.
  ///
  /// - Throws: What ``snapshot(including:)`` throws.
  public final func _snapshot(including relationships: [String] = []) throws -> ObjectSnapshot {
    guard let context = managedObjectContext else { throw StoreError(.noObject(objectID), operation: .takeSnapshot) }
    context.noticeChangesInPlace()
    if flags.contains(.isFault), !fireFault(trigger: nil), !flags.contains(.isInaccessible) {
      throw context.pendingError ?? StoreError(.noRow(objectID), operation: .takeSnapshot)
    }
    if flags.contains(.isInaccessible) { throw StoreError(.noRow(objectID), operation: .takeSnapshot) }
    var snapshot = context.snapshot(of: self)
    for name in relationships {
      let relationship = try compiledEntity.toMany(named: name)
      snapshot.members[relationship.index] = try context.memberIDs(of: self, relationship)
    }
    return snapshot
  }
}

extension CompiledEntity {
  /// The to-many relationship of a name that is stored.
  func toMany(named name: String) throws(KeyValueError) -> CompiledRelationship {
    guard case .toMany(let relationship) = property(named: name), !relationship.isTransient else {
      throw KeyValueError(
        .unknownRelationship, key: name, entityName: self.name, detail: "a snapshot includes to-many relationships by name")
    }
    return relationship
  }
}

extension ManagedObjectContext {
  /// The values of an object that is no fault.
  func snapshot(of object: ManagedObject) -> ObjectSnapshot {
    // As nearly always.
    if object.overlay == nil, let row = object.row {
      return ObjectSnapshot(RowImage(heldRow: row), of: object.compiledEntity, space: object.currentID.space)
    }
    let isNew = object.flags.contains(.isInserted)
    let row = object.presentRow(
      key: isNew ? 0 : object.currentID.key, version: isNew ? 0 : object.row.map { RowImage.version($0) } ?? 0,
      known: { registry.savedReference($0) })
    return ObjectSnapshot(row, of: object.compiledEntity, space: space(of: object))
  }

  /// The IDs of the members of an object's to-many relationship.
  func memberIDs(of object: ManagedObject, _ relationship: CompiledRelationship) throws -> [ManagedObjectID] {
    guard let state = object.loadedState(relationship.index), state.isLoaded else {
      throw pendingError ?? StoreError(.noRow(object.objectID), operation: .takeSnapshot)
    }
    let ids = state.visibleMembers.lazy.filter { self.isLiving($0, near: object) }.compactMap { self.objectID($0, near: object) }
    return ObjectSnapshot.ordered(ids, of: relationship)
  }
}
