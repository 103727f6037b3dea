public import Foundation

/// The metadata of a store, saved inside it.
///
/// ```swift
/// let description = PersistentStoreDescription(url: url, key: key)
/// let metadata = try await PersistentStoreCoordinator.metadataForPersistentStore(with: description)
/// print(metadata.storeIdentifier, metadata.versionIdentifiers, metadata.userMetadata["importedOn"] ?? "never")
/// ```
///
/// For an open store, use ``PersistentStore/metadata``. Reading metadata from a file does not require the store's model, but it requires
/// the key, because metadata are encrypted too. Changing a copy of this value does not change the store.
public struct StoreMetadata: Sendable {
  /// The UUID of the store, which is part of its object IDs.
  public var storeIdentifier: String
  /// The name of the store type.
  public var storeType: String
  /// The version hashes of the model that wrote the store, by entity name. Empty if the store is new.
  public var modelHashes: [String: Data]
  /// The checksum of the model that wrote the store (``CompiledModel/checksum``). Empty if this type of store saves none.
  public var modelChecksum = ""
  /// Descriptions of the tasks that migrations have deferred, in the order of execution.
  public var deferredMigrationTasks: [String] = []
  /// The version identifiers of the model.
  public var versionIdentifiers: Set<String> = []
  /// The application's entries.
  public var userMetadata: [String: String] = [:]

  /// Creates metadata.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The UUID of the store.
  ///   - storeType: The name of the store type.
  ///   - modelHashes: The version hashes of the store's entities, by name.
  public init(storeIdentifier: String, storeType: String, modelHashes: [String: Data]) {
    self.storeIdentifier = storeIdentifier
    self.storeType = storeType
    self.modelHashes = modelHashes
  }
}
