// PersistentStoreCoordinator+OpenStores: which open stores a request is for, and what is said where there are none.
package import ObjectModel

extension StoreError {
  /// No store is open that could answer.
  ///
  /// - Parameter operation: What was asked.
  package static func noOpenStore(_ operation: StoreOperation) -> StoreError {
    StoreError(.noStoreOpen, operation: operation)
  }

  /// The store of an object is not open.
  package static func noOpenStore(of objectID: ManagedObjectID, _ operation: StoreOperation) -> StoreError {
    return StoreError(.storeOfObjectNotOpen(objectID), operation: operation)
  }
}

extension PersistentStoreCoordinator {
  /// Throws where no store is open at all.
  package func checkOpen(_ operation: StoreOperation) throws(StoreError) {
    if persistentStores.isEmpty { throw .noOpenStore(operation) }
  }

  /// The open store of an object.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` where it is not open: whether there is such an object nobody knows.
  package func openStore(of objectID: ManagedObjectID, _ operation: StoreOperation) throws(StoreError) -> PersistentStore {
    if let store = store(numbered: objectID.space) { return store }
    throw .noOpenStore(of: objectID, operation)
  }

  /// The open stores that hold an entity's objects: at least one.
  ///
  /// - Parameters:
  ///   - includesSubentities: Whether stores that hold only entities below it count.
  ///   - affectedStores: The identifiers of the stores that are meant; nil for all.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` where no store is open, or one that is meant is not, with
  ///   ``StoreError/Code/entityNotInStore`` where none holds the entity: that there are no objects would be said by nobody who has looked.
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

  /// No open store holds an entity.
  ///
  /// - Parameter isNamed: Whether the request names the stores that are meant.
  package func entityNotInStore(_ entity: CompiledEntity, isNamed: Bool = false, _ operation: StoreOperation) -> StoreError {
    let configurations = compiledModel.model.configurations.filter { $0.entityNames.contains(entity.name) }.map(\.name)
    return StoreError(.entityInNoOpenStore(entity.name, isNamed: isNamed, configurations: configurations), operation: operation)
  }
}
