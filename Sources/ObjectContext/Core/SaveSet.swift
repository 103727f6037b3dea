package import ObjectModel
package import ObjectStore

/// The objects of one save.
package struct SaveSet {
  package let inserted: [ManagedObject]
  package let updated: [ManagedObject]
  package let deleted: [ManagedObject]
  /// Unchanged objects whose versions are checked.
  package let locked: [ManagedObject]

  /// Calls a closure for the inserted, updated and deleted objects, without concatenating the lists, which would slow down small saves.
  @inline(__always) package func forEachChanged(_ body: (ManagedObject) throws -> Void) rethrows {
    for object in inserted { try body(object) }
    for object in updated { try body(object) }
    for object in deleted { try body(object) }
  }

  package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && locked.isEmpty }

  /// Returns the ID of one of the objects in a store.
  package func first(inSpace space: UInt32) -> ManagedObjectID? {
    func isInStores(_ object: ManagedObject) -> Bool { object.currentID.space == space }
    let object =
      inserted.first(where: isInStores) ?? updated.first(where: isInStores) ?? deleted.first(where: isInStores)
      ?? locked.first(where: isInStores)
    return object?.currentID
  }

  package func hasSameObjects(as other: SaveSet) -> Bool {
    inserted == other.inserted && updated == other.updated && deleted == other.deleted
  }

  /// Returns the objects that were saved after a merge policy has removed some of them.
  ///
  /// - Parameters:
  ///   - gone: Objects that are not in a store.
  ///   - merged: New objects that now represent stored ones.
  ///   - restored: Objects that were not deleted.
  package func without(_ removed: Set<ManagedObject>, merged: Set<ManagedObject>, restored: Set<ManagedObject>) -> SaveSet {
    SaveSet(
      inserted: inserted.filter { !removed.contains($0) && !merged.contains($0) },
      updated: updated.filter { !removed.contains($0) } + inserted.filter(merged.contains),
      deleted: deleted.filter { !removed.contains($0) && !restored.contains($0) }, locked: locked)
  }

  /// Returns the objects that are in the given stores.
  package func part(inStores stores: [PersistentStore]) -> SaveSet {
    let spaces = Set(stores.map(\.space.number))
    func isInStores(_ object: ManagedObject) -> Bool { spaces.contains(object.currentID.space) }
    return SaveSet(
      inserted: inserted.filter(isInStores), updated: updated.filter(isInStores), deleted: deleted.filter(isInStores),
      locked: locked.filter(isInStores))
  }
}
