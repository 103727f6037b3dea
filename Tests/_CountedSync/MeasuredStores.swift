import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncEngine

/// Stores of a model in a folder, which can be synchronized.
struct MeasuredStores {
  private let folder: URL
  private let model: CompiledModel
  private let key = StoreKey.raw(SecretBytes([UInt8](repeating: 5, count: 32)))

  init(in folder: URL, model: CompiledModel) { (self.folder, self.model) = (folder, model) }

  func open(_ name: String) async throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    var description = PersistentStoreDescription(url: folder.appendingPathComponent(name), key: key)
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    return (coordinator, try await coordinator.addPersistentStore(with: description))
  }
}
