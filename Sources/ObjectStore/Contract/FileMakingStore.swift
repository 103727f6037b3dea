// FileMakingStore: a store that can take back the files that opening it has made.

/// A store that creates its files if they are missing. If opening fails later, it removes the files that it created.
package protocol FileMakingStore: IncrementalStore {
  /// Whether opening has made the store's files, and they can be taken back.
  var hasMadeFiles: Bool { get }

  /// Keeps the files that opening has made.
  func keepFiles()

  /// Removes the files that opening has made, after the store was closed; those that were there before, and those that another process uses or has made, stay.
  ///
  /// - Parameter withContents: Whether to remove them also where something was written to the store since.
  func takeBackFiles(withContents: Bool)
}
