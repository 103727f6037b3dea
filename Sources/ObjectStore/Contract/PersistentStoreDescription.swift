public import Foundation
package import ObjectModel

/// A type of store, named as it is registered: `sqlcipher`, ``inMemory``, or a type of the application.
///
/// ```swift
/// let description = PersistentStoreDescription(type: .inMemory)
/// ```
public struct StoreType: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The registered name.
  public let rawValue: String
  /// The class of a type that the library defines in another module; nil for a type whose class is registered.
  let storeClass: (any IncrementalStore.Type)?
  /// Creates a type from its registered name.
  public init(rawValue: String) { (self.rawValue, storeClass) = (rawValue, nil) }
  /// Creates a type that needs no registration.
  package init(rawValue: String, storeClass: any IncrementalStore.Type) { (self.rawValue, self.storeClass) = (rawValue, storeClass) }
  /// A store that keeps all objects in memory, without a file.
  public static let inMemory = StoreType(rawValue: "InMemory")
  /// The registered name.
  public var description: String { rawValue }

  /// Returns whether two types have the same name.
  public static func == (left: StoreType, right: StoreType) -> Bool { left.rawValue == right.rawValue }
  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

/// The location, type, and settings of a store. A description is a value; copy and modify it to describe another store.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: .passphrase("correct horse"))
/// description.isReadOnly = true
/// description.durability = .full
/// ```
///
/// Nothing is opened or checked until the description is passed to a container or coordinator.
public struct PersistentStoreDescription: Sendable {
  /// The type of the store.
  public var type: StoreType
  /// The location of the store, or nil for stores without a file.
  public var url: URL?
  /// The model configuration of the store, or nil for all entities.
  public var configuration: String?
  /// The name of the container that opens the store, or nil if a coordinator is used without one. It appears in the errors of other clients
  /// that try to use the store.
  package var containerName: String?
  /// Whether the store is opened read-only. SQLite may then leave an empty log (`-wal`) and its index (`-shm`) next to the store, because a
  /// read-only connection cannot remove them; the next connection that writes does.
  public var isReadOnly = false
  /// Whether to create a store that does not exist. If false, a missing file is an error.
  public var createsStore = true
  /// Whether to migrate a store that was written with another model when it is added. If false, such a store is an error.
  public var shouldMigrateStoreAutomatically = true
  /// Whether a migration may be inferred from the two models.
  public var shouldInferMappingModelAutomatically = true
  /// Whether a migration defers expensive cleanup, such as dropping tables and columns, until
  /// ``PersistentStoreCoordinator/finishDeferredLightweightMigration()``.
  public var defersLightweightMigration = false
  /// The URL for a backup that is made when a migration begins, or nil for no backup. The backup is encrypted with the same keys and can be
  /// opened with the older model. If the migration fails, it removes its backup, because the store is unchanged.
  ///
  /// The file name is extended by the version of the store (the version identifiers of its model, or else eight digits of the model's
  /// checksum), and by a number if that name is taken: `before.store` becomes `before-library-1.store`, or `before-library-1-2.store`.
  /// Nothing is overwritten, so the URL can remain set permanently. If a process is killed during a migration, the next migration reuses
  /// its backup, provided that it is complete and identical to the store. ``PersistentStore/migrationBackupURL`` is the location of the
  /// backup.
  public var migrationBackupURL: URL?
  /// Whether the backup is stored exactly at ``migrationBackupURL``. An existing file there must be an identical backup. For callers that
  /// choose a unique name.
  package var namesMigrationBackupExactly = false
  /// The version hashes that a store must have to be copied here, because another process may migrate it concurrently. Nil copies the store
  /// with any hashes.
  package var copiedModelHashes: [String: Data]?
  /// The author that the store's history records for a migration, and for values that are recomputed for a model when the store is opened.
  /// Nil records no author.
  public var migrationAuthor: String?
  /// A closure that receives the progress of a migration, called on the thread that migrates.
  public var migrationProgress: (@Sendable (MigrationProgress) -> Void)?
  /// Cancels a migration, from any thread. The store is unchanged then.
  public var migrationCancellation: RequestCancellation?
  /// Returns the migration steps from a store's version to the coordinator's model. If nil or if the result is empty, the migration is
  /// inferred in one step.
  package var migrationSteps: (@Sendable (StoreMigrationOrigin, CompiledModel) throws -> [StoreMigrationStep])?
  /// Whether the store keeps a history of its changes.
  ///
  /// Nil leaves the store's setting unchanged and follows later changes of it by other clients. True and false enable or disable the
  /// history when the store is opened, in one transaction. Disabling deletes the history, and fails while a consumer is registered.
  public var historyTracking: Bool?
  /// The level of detail of the history. Nil keeps the current level, or uses ``HistoryLevel/properties`` for a new history.
  public var historyLevel: HistoryLevel?
  /// How long the history is kept. By default it is kept until the application deletes it.
  public var historyRetention = HistoryRetention.unlimited
  /// Whether opening the store fails if a transformer that an attribute names is not registered. False by default: using such an attribute
  /// throws then, and ``PersistentStoreCoordinator/missingTransformers`` lists the attributes.
  public var requiresTransformers = false
  /// Whether the coordinator reports commits by other processes and coordinators, through ``PersistentStoreCoordinator/remoteChanges()``
  /// and the notification `persistentStoreRemoteChange`. False by default, at no cost. If true and the store cannot be observed, opening it
  /// fails.
  public var postsRemoteChangeNotifications = false
  private var settings: [StoreSettingIdentity: any Sendable] = [:]

  /// The value of a setting of the store's class, or nil if it is not set. It is passed to the store unchanged.
  public subscript<Value: Sendable>(key: StoreSettingKey<Value>) -> Value? {
    get { settings[key.identity] as? Value }
    set { settings[key.identity] = newValue }
  }

  /// Creates a description with default settings.
  public init(type: StoreType, url: URL? = nil) {
    self.type = type
    self.url = url
  }
}
