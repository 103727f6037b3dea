// FileStore: what a class of stores with files offers beyond requests: work on stores that no coordinator has open.
public import ObjectModel

/// A class of stores that lie in files: they can be asked, copied, replaced and destroyed without being opened for requests.
///
/// A coordinator reaches these through ``PersistentStoreCoordinator``; a class that does not conform is refused there.
public protocol FileStore: IncrementalStore {
  /// What a store knows of itself; nothing is changed.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` where there is no store.
  static func metadata(ofStoreWith description: PersistentStoreDescription) async throws -> StoreMetadata

  /// Changes what the application keeps in a store's metadata.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` where there is no store.
  static func setUserMetadata(_ metadata: [String: String], ofStoreWith description: PersistentStoreDescription) async throws

  /// The model that a store was written with.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/storeNotFound`` where there is no store.
  static func cachedModel(ofStoreWith description: PersistentStoreDescription) async throws -> ManagedObjectModel

  /// Removes a store with all its files. Nobody may have it open.
  ///
  /// A part of the store is enough: another removal finishes one that was interrupted.
  /// - Throws: ``StoreError`` with ``StoreError/Code/storeNotFound`` where nothing of a store is there.
  static func destroyStore(with description: PersistentStoreDescription) async throws

  /// Puts a copy of one store in the place of another, or where there is none. Whatever happens, one of the two stores stands there whole.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/busy`` where anybody has the destination open.
  static func replaceStore(with destination: PersistentStoreDescription, byStoreWith source: PersistentStoreDescription) async throws

  /// Copies the open store, as one snapshot, to a new place, where it has the same UUID and object IDs.
  ///
  /// - Parameters:
  ///   - description: The new place.
  ///   - progress: Called with how much is done; answers whether to go on.
  /// - Returns: The description that opens the copy; nil where the store cannot be copied so, for example to another type, and nothing was
  ///   done.
  /// - Throws: ``StoreError``, with ``StoreError/Code/alreadyExists`` where something is at the new place, ``StoreError/Code/cancelled`` when
  ///   `progress` ends the work; `CancellationError` when the task is cancelled.
  func copy(
    to description: PersistentStoreDescription, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)?
  ) async throws -> PersistentStoreDescription?
}
