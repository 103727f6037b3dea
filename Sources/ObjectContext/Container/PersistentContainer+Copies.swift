// PersistentContainer+Copies: a container's one store copied while it is open.
import Foundation
import ObjectStore

extension PersistentContainer {
  /// Copies the container's store, as one snapshot, to a place where nothing is; the copy opens with the same keys.
  ///
  /// - Returns: False where no store is open that can be copied.
  /// - Throws: ``StoreError``.
  func copyStore(to url: URL) async throws -> Bool {
    guard let store = persistentStoreCoordinator.persistentStores.first, let files = store.incrementalStore as? any FileStore else {
      return false
    }
    return try await files.copy(to: PersistentStoreDescription(type: store.type, url: url), progress: nil) != nil
  }
}
