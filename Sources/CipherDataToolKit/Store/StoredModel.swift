// StoredModel: opening a store with the model that is inside it, which another process may exchange meanwhile.
package import ObjectModel
import ObjectStore
package import SQLCipherStore

extension SQLCipherStoreFile {
  /// Runs work, which opens the store, with the model that is inside it; again with the newer one where another process migrates it in between.
  package func withStoredModel<Result>(_ body: (ManagedObjectModel) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      do { return try await body(try await readModel()) } catch let error as StoreError where error.code == .storeNewerThanModel {}
    }
    return try await body(try await readModel())
  }
}
