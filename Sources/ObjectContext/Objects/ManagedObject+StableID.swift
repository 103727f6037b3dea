public import Foundation
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// The UUID of the object, which is the same in every store that contains the object: in copies of the store, after migrations, exports
  /// and imports, and on other devices.
  ///
  /// ``objectID`` identifies the object within its store. The stable ID is nil until the save that inserts the object into the store has
  /// succeeded, even if the object already has a permanent ``objectID``, and if the store has no stable IDs
  /// (``PersistentStoreDescription/tracksObjectIdentity``). A deleted object keeps its UUID, also after the deletion is saved, as long as
  /// its context exists. Reads from the store; for many objects use ``ManagedObjectContext/stableIDs(of:)``.
  ///
  /// - Throws: ``StoreError`` if the store is not open or cannot be read.
  public final var stableID: UUID? {
    get throws { try (managedObjectContext ?? previousContext)?.stableIDs(of: [self]).first ?? nil }
  }

  /// The existing context that the object has left.
  private final var previousContext: ManagedObjectContext? {
    flags.contains(.isRemoved) ? ContextRegistry.context(previousContextNumber) : nil
  }
}

extension ManagedObjectContext {
  /// Returns the stable IDs of objects in their order; see ``ManagedObject/stableID``.
  ///
  /// - Throws: ``StoreError`` if a store is not open or cannot be read.
  public func stableIDs(of objects: [ManagedObject]) throws -> [UUID?] {
    let stored = objects.indices.filter { !isUnsaved(objects[$0]) }
    var ids = [UUID?](repeating: nil, count: objects.count)
    for (index, id) in zip(stored, try rowSource.stableIDs(of: stored.map { objects[$0].objectID })) { ids[index] = id }
    return ids
  }

  /// Returns whether an object has never been saved to a store. A nested context saves to its parent.
  private func isUnsaved(_ object: ManagedObject) -> Bool {
    if object.flags.contains(.isUnsaved) || object.objectID.isTemporaryID { return true }
    var context = parent
    while let current = context {
      if current.registeredObject(for: object.objectID)?.flags.contains(.isUnsaved) ?? false { return true }
      context = current.parent
    }
    return false
  }

  /// Whether all stores of the context give their objects stable IDs.
  package var hasStableIDs: Bool { get throws { try rowSource.hasStableIDs } }

  /// Assigns stable IDs of other stores to saved objects.
  package func assignStableIDs(_ objects: [UUID: ManagedObject]) throws {
    try rowSource.setStableIDs(objects.map { ($0.value.objectID, $0.key) })
  }

  /// Returns the object with a stable ID, or nil if no store of the context contains it.
  ///
  /// - Throws: ``StoreError`` if no store is open or a store cannot be read.
  public func object(forStableID id: UUID) throws -> ManagedObject? {
    guard let objectID = try rowSource.objectID(forStableID: id) else { return nil }
    let object = object(with: objectID)
    return object.isDeleted ? nil : object
  }
}
