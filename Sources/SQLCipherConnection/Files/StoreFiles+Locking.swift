// Removing and replacing whole stores, with SQLite's own lock on their databases.

package import StoreFiles

extension StoreRemoval {
  /// Removes a store with everything that belongs to it.
  ///
  /// - Throws: `.busy` where somebody has the store open; then nothing is touched. `.noSuchFile` where nothing of a store is there.
  package static func destroy(_ storePath: String) throws {
    try destroy(storePath, lock: .exclusive)
  }
}

extension StoreReplacement {
  /// Replaces a store, or makes one where there is none, by what `copy` writes to the path it is given: a whole store with its key file.
  ///
  /// - Throws: `.busy` where somebody has the store open, and what `copy` throws; the store is as it was then.
  package static func replace(
    _ storePath: String, needsFreePlace: Bool = false, copy: @Sendable (_ path: String) async throws -> Void
  ) async throws {
    try await replace(storePath, lock: .exclusive, needsFreePlace: needsFreePlace, copy: copy)
  }

  /// Finishes a replacement that was interrupted; usually there is none, and one look tells.
  package static func finish(_ storePath: String) throws {
    try finish(storePath, lock: .exclusive)
  }
}

extension DatabaseLocking {
  /// SQLite's own exclusive lock.
  fileprivate static let exclusive = DatabaseLocking { try ExclusiveFileLock.ifThere($0, operation: $1) }
}
