/// A store that creates its files if they are missing. If opening fails later, it removes the files that it created.
package protocol FileCreatingStore: IncrementalStore {
  /// Whether opening the store created its files and they can still be removed.
  var hasCreatedFiles: Bool { get }

  /// Makes the created files permanent.
  func keepFiles()

  /// Removes the files that opening created, after the store was closed. Files that existed before, and files that another process created
  /// or uses, remain.
  ///
  /// - Parameter withContents: Whether to remove the files even if something was written to the store since.
  func removeCreatedFiles(withContents: Bool)
}
