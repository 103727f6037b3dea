public import ObjectModel

/// A class of file-based stores, which can be inspected, copied, replaced, and destroyed without being opened for requests.
///
/// ``PersistentStoreCoordinator`` provides these operations, and throws an error for store classes that do not conform.
public protocol FileStore: IncrementalStore {
  /// Returns the metadata of a store without changing it.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` if there is no store.
  static func metadata(ofStoreWith description: PersistentStoreDescription) async throws -> StoreMetadata

  /// Replaces the application's entries in the metadata of a store.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` if there is no store.
  static func setUserMetadata(_ metadata: [String: String], ofStoreWith description: PersistentStoreDescription) async throws

  /// Returns the model that a store was written with.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` if there is no store.
  static func cachedModel(ofStoreWith description: PersistentStoreDescription) async throws -> ManagedObjectModel

  /// Removes a store with all its files. The store must not be open anywhere.
  ///
  /// Incomplete stores can be removed too, so a call completes a removal that was interrupted.
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` if no part of a store exists.
  static func destroyStore(with description: PersistentStoreDescription) async throws

  /// Replaces a store with a copy of another one, or creates the copy if the destination does not exist. The replacement is atomic: after
  /// an error or a crash, either the old or the new store exists completely.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/busy`` if the destination is open anywhere.
  static func replaceStore(with destination: PersistentStoreDescription, byStoreWith source: PersistentStoreDescription) async throws

  /// Copies a snapshot of the open store to a new location. The copy has the same UUID and object IDs.
  ///
  /// - Parameters:
  ///   - description: The new location.
  ///   - progress: Receives the progress and returns whether to continue.
  /// - Returns: The description that opens the copy, or nil if the store cannot be copied this way, for example to another store type.
  ///   Nothing is copied then.
  /// - Throws: ``StoreError``, with ``StoreError/Code/alreadyExists`` if the location is occupied or ``StoreError/Code/cancelled`` if
  ///   `progress` returns false; `CancellationError` if the task is canceled.
  func copy(
    to description: PersistentStoreDescription, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)?
  ) async throws -> PersistentStoreDescription?
}

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
