// StoredModel: opening a store with the model that is inside it, which another process may exchange meanwhile.
package import ObjectModel
import ObjectStore
package import SQLCipherStore

extension SQLCipherStoreFile {
  /// Runs work, which opens the store, with the model that is inside it; again with the newer one where another process migrates it before the opening, or before
  /// the end of the work.
  package func withStoredModel<Result>(_ body: (ManagedObjectModel) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      do { return try await body(try await readModel()) } catch let error as StoreError
        where [.storeNewerThanModel, .modelIncompatible].contains(error.code)
      {}
    }
    return try await body(try await readModel())
  }
}
