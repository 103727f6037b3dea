package import ObjectModel

extension PersistentStoreCoordinator {
  /// Creates a coordinator for a store that is already open and contains all entities of the model. The caller remains responsible for
  /// closing it.
  ///
  /// - Parameter model: A model with the same entity and property numbers as the model that the store was opened with.
  package convenience init(
    adopting store: any IncrementalStore, metadata: StoreMetadata, model: CompiledModel, isReadOnly: Bool, rowCacheLimit: Int
  ) {
    self.init(compiledModel: model, rowCacheLimit: rowCacheLimit)
    var description = PersistentStoreDescription(type: StoreType(rawValue: metadata.storeType))
    description.isReadOnly = isReadOnly
    let configuration = StoreConfiguration(description: description, model: model, entityNumbers: model.entities.map(\.number))
    add(PersistentStore(configuration: configuration, store: store, metadata: metadata, cacheLimit: rowCacheLimit, observers: observers))
  }
}
