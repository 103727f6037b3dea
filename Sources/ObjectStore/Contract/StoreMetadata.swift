// StoreMetadata: what a store knows of itself.
public import Foundation

/// What a store knows of itself, kept inside it.
///
/// ```swift
/// let description = PersistentStoreDescription(url: url, key: key)
/// let metadata = try await PersistentStoreCoordinator.metadataForPersistentStore(with: description)
/// print(metadata.storeIdentifier, metadata.versionIdentifiers, metadata.userMetadata["importedOn"] ?? "never")
/// ```
///
/// An open store has it at hand as ``PersistentStore/metadata``. Reading it from a file does not need the store's model, but its key, since it is encrypted
/// with everything else. It is a value: changing a copy changes no store.
public struct StoreMetadata: Sendable {
  /// The store's UUID, which its object IDs carry.
  public var storeIdentifier: String
  /// The name of the store's type.
  public var storeType: String
  /// The version hashes of the model that wrote the store, by entity; empty when the store is new.
  public var modelHashes: [String: Data]
  /// The checksum of the model that wrote the store (``CompiledModel/checksum``); empty where the kind of store keeps none.
  public var modelChecksum = ""
  /// What deferred migrations have put off, in words, in the order in which it will be done.
  public var deferredMigrationTasks: [String] = []
  /// The identifiers of the model's version.
  public var versionIdentifiers: Set<String> = []
  /// What the application keeps in the metadata.
  public var userMetadata: [String: String] = [:]

  /// Makes metadata.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The store's UUID.
  ///   - storeType: The name of its type.
  ///   - modelHashes: The version hash of each entity that it holds.
  public init(storeIdentifier: String, storeType: String, modelHashes: [String: Data]) {
    self.storeIdentifier = storeIdentifier
    self.storeType = storeType
    self.modelHashes = modelHashes
  }
}
