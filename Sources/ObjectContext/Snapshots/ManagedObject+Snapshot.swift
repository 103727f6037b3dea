import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Returns a sendable snapshot of the object's current values, including unsaved changes. Fires a fault.
  ///
  /// The snapshot of an object without unsaved changes shares the object's row and copies nothing. Generated classes have a method of the
  /// same name that returns a typed snapshot.
  ///
  /// - Parameter relationships: The to-many relationships whose members to include, as IDs. Members that are not loaded are read from the
  ///   store.
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if the object's row or context does not exist anymore; errors from
  ///   reading the row or the members; ``KeyValueError`` for a name that is not a stored to-many relationship.
  @_disfavoredOverload public final func snapshot(including relationships: [String] = []) throws -> ObjectSnapshot {
    try untypedSnapshot(including: relationships)
  }

  /// Returns a snapshot of the object's values. Called by generated classes.
  ///
  /// - Throws: The errors of ``snapshot(including:)``.
  @_spi(Generated) public final func untypedSnapshot(including relationships: [String] = []) throws -> ObjectSnapshot {
    guard let context = managedObjectContext else { throw StoreError(.noObject(objectID), operation: .takeSnapshot) }
    context.recordInPlaceMutations()
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
  /// Returns the stored to-many relationship with a name.
  func toMany(named name: String) throws(KeyValueError) -> CompiledRelationship {
    guard case .toMany(let relationship) = property(named: name), !relationship.isTransient else {
      throw KeyValueError(
        .unknownRelationship, key: name, entityName: self.name, detail: "a snapshot includes to-many relationships by name")
    }
    return relationship
  }
}

extension ManagedObjectContext {
  /// Returns a snapshot of an object that is not a fault.
  func snapshot(of object: ManagedObject) -> ObjectSnapshot {
    // The most frequent case.
    if object.overlay == nil, let row = object.row {
      return ObjectSnapshot(RowImage(heldRow: row), of: object.compiledEntity, space: object.currentID.space)
    }
    let isNew = object.flags.contains(.isInserted)
    let row = object.presentRow(
      key: isNew ? 0 : object.currentID.key, version: isNew ? 0 : object.row.map { RowImage.version($0) } ?? 0,
      known: { registry.savedReference($0) })
    return ObjectSnapshot(row, of: object.compiledEntity, space: space(of: object))
  }

  func memberIDs(of object: ManagedObject, _ relationship: CompiledRelationship) throws -> [ManagedObjectID] {
    guard let state = object.loadedState(relationship.index), state.isLoaded else {
      throw pendingError ?? StoreError(.noRow(object.objectID), operation: .takeSnapshot)
    }
    let ids = state.visibleMembers.lazy.filter { self.exists($0, near: object) }.compactMap { self.objectID($0, near: object) }
    return ObjectSnapshot.ordered(ids, of: relationship)
  }
}
