package import ObjectModel
import ObjectStore
package import SQLCipherStore

extension SQLCipherStoreFile {
  /// Runs a closure that opens the store with the model that is stored in it. If another process migrates the store before the closure
  /// returns, the closure runs again with the newer model.
  package func withStoredModel<Result>(_ body: (ManagedObjectModel) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      do { return try await body(try await readModel()) } catch let error as StoreError
        where [.storeNewerThanModel, .modelIncompatible].contains(error.code)
      {}
    }
    return try await body(try await readModel())
  }
}
