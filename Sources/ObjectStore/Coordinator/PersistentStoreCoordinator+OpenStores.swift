package import ObjectModel

extension StoreError {
  /// Returns the error for a request while no store is open.
  package static func noOpenStore(_ operation: StoreOperation) -> StoreError {
    StoreError(.noStoreOpen, operation: operation)
  }

  /// Returns the error for an object whose store is not open.
  package static func noOpenStore(of objectID: ManagedObjectID, _ operation: StoreOperation) -> StoreError {
    return StoreError(.storeOfObjectNotOpen(objectID), operation: operation)
  }
}

extension PersistentStoreCoordinator {
  /// Throws if no store is open.
  package func checkOpen(_ operation: StoreOperation) throws(StoreError) {
    if persistentStores.isEmpty { throw .noOpenStore(operation) }
  }

  /// Returns the open store of an object.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` if the store is not open, because it is then unknown whether the object
  ///   exists.
  package func openStore(of objectID: ManagedObjectID, _ operation: StoreOperation) throws(StoreError) -> PersistentStore {
    if let store = store(numbered: objectID.space) { return store }
    throw .noOpenStore(of: objectID, operation)
  }

  /// Returns the open stores that contain objects of an entity. The result is never empty, because a request that no store can answer must
  /// not return an empty result.
  ///
  /// - Parameters:
  ///   - includesSubentities: Whether to include stores that contain only subentities.
  ///   - affectedStores: The identifiers of the requested stores, or nil for all.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` if no store, or a requested store, is not open; with
  ///   ``StoreError/Code/entityNotInStore`` if no store contains the entity.
  package func openStores(
    holding entity: CompiledEntity, includesSubentities: Bool = true, affectedStores: [String]?, _ operation: StoreOperation
  ) throws(StoreError) -> [PersistentStore] {
    let open = persistentStores
    if open.isEmpty { throw .noOpenStore(operation) }
    if let missing = affectedStores?.first(where: { name in !open.contains { $0.identifier == name } }) {
      throw StoreError(.namedStoreNotOpen(missing), operation: operation)
    }
    let numbers = includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    let holding = open.filter { store in
      (affectedStores?.contains(store.identifier) ?? true) && numbers.contains { store.entityNumbers.contains($0) }
    }
    guard holding.isEmpty else { return holding }
    throw entityNotInStore(entity, isNamed: affectedStores != nil, operation)
  }

  /// Returns the error for an entity that no open store contains.
  ///
  /// - Parameter isNamed: Whether the request names its stores.
  package func entityNotInStore(_ entity: CompiledEntity, isNamed: Bool = false, _ operation: StoreOperation) -> StoreError {
    let configurations = compiledModel.model.configurations.filter { $0.entityNames.contains(entity.name) }.map(\.name)
    return StoreError(.entityInNoOpenStore(entity.name, isNamed: isNamed, configurations: configurations), operation: operation)
  }
}
