/// A file-based store that can be compared with a copy of it.
package protocol CopyCheckingStore: FileStore {
  /// Returns whether the store at the given location is a complete copy of the current state of this one, including its keys.
  ///
  /// - Parameters:
  ///   - description: The location of the possible copy.
  ///   - progress: Receives the progress and returns whether to continue.
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled`` if `progress` returns false; `CancellationError` if the task is canceled.
  func isCopied(
    to description: PersistentStoreDescription, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)?
  ) async throws -> Bool
}
