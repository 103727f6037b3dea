package import Foundation
import ObjectContext
package import ObjectModel
import ObjectStore
package import CipherData
import SQLCipherStore

/// Creation of new stores.
package enum StoreCreation {
  /// Creates a store and closes it.
  package static func create(_ url: URL, model: ManagedObjectModel, key: StoreKey, label: String = "") async throws {
    var description = PersistentStoreDescription(url: url, key: key)
    description.keyLabel = label
    let container = try PersistentContainer(
      name: url.lastPathComponent, managedObjectModel: model, persistentStoreDescriptions: [description])
    do {
      try await container.loadPersistentStores()
    } catch let error as StoreError where [.permissionDenied, .io, .storeNotFound].contains(error.code) {
      throw ToolError(.cannotCreate, error.description)
    }
    try container.close()
  }
}
