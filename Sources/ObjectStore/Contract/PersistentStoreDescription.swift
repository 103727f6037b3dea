// PersistentStoreDescription: which store to open, and how.
public import Foundation
package import ObjectModel

/// A kind of store, by the name it is registered under: `sqlcipher`, ``inMemory``, or one of the application's own.
///
/// ```swift
/// let description = PersistentStoreDescription(type: .inMemory)
/// ```
public struct StoreType: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The raw value.
  public let rawValue: String
  /// The type of a name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// The whole graph in memory, without a file.
  public static let inMemory = StoreType(rawValue: "InMemory")
  /// The name.
  public var description: String { rawValue }
}

/// Which store to open, and how. It is a value: copy and change it for another store.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: .passphrase("correct horse"))
/// description.isReadOnly = true
/// description.durability = .full
/// ```
///
/// Nothing is opened or checked before a container or a coordinator gets it.
public struct PersistentStoreDescription: Sendable {
  /// The kind of store.
  public var type: StoreType
  /// Where the store is; nil for stores without a file.
  public var url: URL?
  /// The configuration of the model that the store holds; nil for all entities.
  public var configuration: String?
  /// What the container is called that opens the store; nil where a coordinator does without one. Errors of others who want the store say it.
  package var containerName: String?
  /// Whether the store is only read. SQLite may then leave an empty log (`-wal`) and its index (`-shm`) next to the store, because a connection that only reads
  /// cannot remove them; the next one that writes does.
  public var isReadOnly = false
  /// Whether a store that does not exist is created; false makes a missing file an error.
  public var createsStore = true
  /// Whether a store that was written with another model is migrated when it is added; false makes it an error.
  public var shouldMigrateStoreAutomatically = true
  /// Whether a migration may infer what to do from the two models.
  public var shouldInferMappingModelAutomatically = true
  /// Whether a migration puts off costly clean-up, such as dropping tables and columns, until
  /// ``PersistentStoreCoordinator/finishDeferredLightweightMigration()``.
  public var defersLightweightMigration = false
  /// Where a copy of the store goes when a migration begins: encrypted, with the same keys, to be opened by the older model. Nil makes none; a migration that
  /// fails leaves none, since the store is as it was then.
  ///
  /// The name gets the version that the store has (the identifiers of its model, or else eight digits of the model's checksum), and a number where that name
  /// is taken: `before.store` becomes `before-library-1.store`, or `before-library-1-2.store`. So the URL can stay set for ever; nothing is overwritten.
  /// If a process is killed while it migrates, the next migration uses its copy again, provided that the copy is complete and the same as the store.
  /// ``PersistentStore/migrationBackupURL`` tells where the copy lies.
  public var migrationBackupURL: URL?
  /// Whether the copy has just the name of ``migrationBackupURL``, where nothing may be but the same copy: for who chooses a name for this once.
  package var namesMigrationBackupExactly = false
  /// The version hashes that a store must have to be copied to here: another process may migrate it meanwhile. Nil copies it as it is.
  package var copiedModelHashes: [String: Data]?
  /// Who a store's history has as the author of a migration, and of what an opening computes anew for a model; nil for nobody.
  public var migrationAuthor: String?
  /// Called with how far a migration has come, on the thread that migrates.
  public var migrationProgress: (@Sendable (MigrationProgress) -> Void)?
  /// Calls off a migration, from any thread; the store is then as it was.
  public var migrationCancellation: RequestCancellation?
  /// The steps from a store's version to the coordinator's model; nil, or an empty answer, infers the whole way at once.
  package var migrationSteps: (@Sendable (StoreMigrationOrigin, CompiledModel) throws -> [StoreMigrationStep])?
  /// Whether the store keeps a history of what is written to it. Nil takes the store as it is, also when somebody else switches its history; true and false switch it
  /// as the store is opened, in one transaction. Switching it off forgets all of it, and is refused while a consumer is registered.
  public var historyTracking: Bool?
  /// How much the history keeps of each change; nil takes it as it is, and ``HistoryLevel/properties`` for a new one.
  public var historyLevel: HistoryLevel?
  /// For how long the history is kept; by default until somebody deletes it.
  public var historyRetention = HistoryRetention.unlimited
  /// Whether the store is not opened while a transformer that its entities' attributes name is not registered. False by default: such attributes then fail when
  /// they are used; ``PersistentStoreCoordinator/missingTransformers`` lists them.
  public var requiresTransformers = false
  /// Whether the coordinator tells of what other processes and coordinators commit to the store: in ``PersistentStoreCoordinator/remoteChanges()``, and in
  /// the notification `persistentStoreRemoteChange`. False by default, and costs nothing then. The store is not opened where it could not be heard.
  public var postsRemoteChangeNotifications = false
  /// The settings of the store's class beside those, by key.
  private var settings: [StoreSettingIdentity: any Sendable] = [:]

  /// A setting of the store's class; nil where it was not set. It reaches the store untouched.
  public subscript<Value: Sendable>(key: StoreSettingKey<Value>) -> Value? {
    get { settings[key.identity] as? Value }
    set { settings[key.identity] = newValue }
  }

  /// Describes a store.
  public init(type: StoreType, url: URL? = nil) {
    self.type = type
    self.url = url
  }
}
