// PersistentStoreCoordinator+Adopting: coordinators over stores that somebody else has opened.
package import ObjectModel

extension PersistentStoreCoordinator {
  /// A coordinator over an open store, which whoever opened it closes. All entities of the model are the store's.
  ///
  /// - Parameters:
  ///   - store: The store, open.
  ///   - model: A model with the numbers of the one that the store was opened with.
  ///   - isReadOnly: Whether saves are refused.
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
