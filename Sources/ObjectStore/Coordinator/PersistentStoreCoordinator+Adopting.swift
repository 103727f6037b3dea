package import ObjectModel

extension PersistentStoreCoordinator {
  /// Creates a coordinator for a store that is already open. The caller remains responsible for closing the store, which contains all
  /// entities of the model.
  ///
  /// - Parameters:
  ///   - store: The open store.
  ///   - metadata: The metadata of the store.
  ///   - model: A model with the same entity and property numbers as the model that the store was opened with.
  ///   - isReadOnly: Whether saves are rejected.
  ///   - rowCacheLimit: The maximum size of the row cache in bytes.
  package convenience init(
    adopting store: any IncrementalStore, metadata: StoreMetadata, model: CompiledModel, isReadOnly: Bool, rowCacheLimit: Int
  ) {
    self.init(compiledModel: model, rowCacheLimit: rowCacheLimit)
    var description = PersistentStoreDescription(type: StoreType(rawValue: metadata.storeType))
    description.isReadOnly = isReadOnly
    let configuration = StoreConfiguration(description: description, model: model, entityNumbers: model.entities.map(\.number))
    add(PersistentStore(configuration: configuration, store: store, metadata: metadata, cacheLimit: rowCacheLimit, listeners: listeners))
  }
}
