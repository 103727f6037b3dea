package import Foundation
package import ObjectModel

/// A store that can identify its objects by UUIDs, which are the same in all stores that contain the object.
package protocol IdentityStore: IncrementalStore {
  /// Returns whether the objects have stable IDs.
  ///
  /// - Throws: ``StoreError`` if the store is closed or cannot be read.
  func tracksObjectIdentity() throws -> Bool

  /// Assigns stable IDs to all existing and future objects, or removes them.
  func setTracksObjectIdentity(_ isTracked: Bool) throws

  /// Returns the stable IDs of objects in their order. Nil if objects have none. Whether an object exists is not checked: deleted objects
  /// keep their ID.
  func stableIDs(of references: [ObjectReference]) throws -> [UUID?]

  /// Returns the existing object with a stable ID, or nil if the store does not contain it.
  func reference(forStableID id: UUID) throws -> ObjectReference?

  /// Replaces the stable IDs of objects, which other stores have assigned.
  ///
  /// - Throws: ``StoreError`` if another object has one of the IDs, or objects have no stable IDs.
  func setStableIDs(_ ids: [(object: ObjectReference, id: UUID)]) throws

  /// Removes the stable IDs that other stores have assigned to objects that no longer exist.
  ///
  /// - Returns: The number of removed IDs.
  /// - Throws: ``StoreError`` if objects have no stable IDs.
  func purgeStableIDs() throws -> Int
}

extension PersistentStoreCoordinator {
  /// Returns the stable IDs of objects in their order. Nil for objects of stores without stable IDs, and for temporary IDs.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` if the store of an object is not open.
  package func stableIDs(of objectIDs: [ManagedObjectID]) throws -> [UUID?] {
    var found = [UUID?](repeating: nil, count: objectIDs.count)
    for positions in Dictionary(grouping: objectIDs.indices, by: { objectIDs[$0].space }).values {
      let saved = positions.filter { !objectIDs[$0].isTemporaryID }
      guard let first = saved.first else { continue }
      let store = try openStore(of: objectIDs[first], .findObject)
      guard let identities = store.incrementalStore as? any IdentityStore else { continue }
      for (position, id) in zip(saved, try identities.stableIDs(of: saved.map { objectIDs[$0].reference })) { found[position] = id }
    }
    return found
  }

  /// Returns the ID of the existing object with a stable ID in any store, or nil if no store contains it.
  package func objectID(forStableID id: UUID) throws -> ManagedObjectID? {
    try checkOpen(.findObject)
    for store in persistentStores {
      guard let identities = store.incrementalStore as? any IdentityStore else { continue }
      if let reference = try identities.reference(forStableID: id) { return store.space.objectID(of: reference) }
    }
    return nil
  }

  /// Removes the stable IDs of deleted objects that take space in a store.
  ///
  /// Only IDs that came from elsewhere take space: those of imported objects, and of objects that a mapping model created. IDs that the store
  /// itself assigned cost nothing, and deleted objects keep them. Call this after deleting the history that
  /// mentions the deleted objects (``PersistentHistoryChangeRequest``): they have IDs of the store itself afterward.
  ///
  /// - Parameter store: A store of the coordinator whose objects have stable IDs.
  /// - Returns: The number of removed IDs.
  /// - Throws: ``StoreError`` if the store's objects have no stable IDs, or it cannot be written.
  @discardableResult
  public func purgeStableIDs(in store: PersistentStore) throws -> Int {
    try checkOpen(.save)
    guard let identities = store.incrementalStore as? any IdentityStore else {
      throw StoreError(.identityUnsupported(type: store.type.rawValue), operation: .save, path: store.url?.path)
    }
    return try identities.purgeStableIDs()
  }

  /// Replaces the stable IDs of saved objects of one store.
  package func setStableIDs(_ ids: [(objectID: ManagedObjectID, id: UUID)], in store: PersistentStore) throws {
    guard let identities = store.incrementalStore as? any IdentityStore else {
      throw StoreError(.identityUnsupported(type: store.type.rawValue), operation: .save, path: store.url?.path)
    }
    try identities.setStableIDs(ids.map { ($0.objectID.reference, $0.id) })
  }
}

extension StoreError.Reason {
  package static func identityUnsupported(type: String) -> Self {
    Self(.unsupported, "Stores of the type “\(type)” do not track the identity of objects.")
  }
  package static var identityOff: Self {
    Self(.invalidRequest, "The objects of the store have no stable IDs.", .enableStableIDs)
  }
  package static func stableIDInUse(_ id: UUID) -> Self {
    Self(.invalidRequest, "Another object of the store has the stable ID \(id.uuidString).")
  }
}
