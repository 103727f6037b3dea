// CopyCheckingStore: a store that can tell whether a file is a copy of it as it is now.

/// A store in files whose copies can be compared with it.
package protocol CopyCheckingStore: FileStore {
  /// Whether the store at a place is a complete copy of this one as it is now, with its keys.
  ///
  /// - Parameter progress: Called with how much is done; answers whether to go on.
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled`` when `progress` ends the work; `CancellationError` when the task is cancelled.
  func isCopied(
    to description: PersistentStoreDescription, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)?
  ) async throws -> Bool
}
