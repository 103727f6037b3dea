package import Foundation
import ObjectStore

extension PersistentContainer {
  /// Copies the container's only store, while it is open, to a location where no file exists. The copy is a snapshot, and opens with the
  /// same keys.
  ///
  /// - Returns: `false` if no store is open that can be copied.
  /// - Throws: ``StoreError``.
  package func copyStore(to url: URL) async throws -> Bool {
    guard let store = persistentStoreCoordinator.persistentStores.first, let files = store.incrementalStore as? any FileStore else {
      return false
    }
    return try await files.copy(to: PersistentStoreDescription(type: store.type, url: url), progress: nil) != nil
  }
}
