package import StoreFiles

extension StoreRemoval {
  /// Removes a store and all files that belong to it.
  ///
  /// - Throws: `.busy` if the store is open; nothing is then changed. `.noSuchFile` if no file of the store exists.
  package static func destroy(_ storePath: String) throws {
    try destroy(storePath, lock: .exclusive)
  }
}

extension StoreReplacement {
  /// Replaces or creates a store with the one that `copy` writes to the path that it receives: a complete store with its key file.
  ///
  /// - Throws: `.busy` if the store is open, and errors of `copy`. The store is then unchanged.
  package static func replace(
    _ storePath: String, requiresUnusedPath: Bool = false, copy: @Sendable (_ path: String) async throws -> Void
  ) async throws {
    try await replace(storePath, lock: .exclusive, requiresUnusedPath: requiresUnusedPath, copy: copy)
  }

  /// Finishes an interrupted replacement. Usually none exists, which costs one file system lookup.
  package static func finish(_ storePath: String) throws {
    try finish(storePath, lock: .exclusive)
  }
}

extension DatabaseLocking {
  fileprivate static let exclusive = DatabaseLocking { try ExclusiveFileLock.ifFileExists($0, operation: $1) }
}
