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
  /// history when the store is opened, in one transaction. Disabling deletes the history, and fails while a consumer is registered. Ignored
  /// if ``isReadOnly`` is set: the store keeps its setting.
  public var historyTracking: Bool?
  /// The level of detail of the history. Nil keeps the current level, or uses ``HistoryLevel/properties`` for a new history.
  public var historyLevel: HistoryLevel?
  /// How long the history is kept. By default it is kept until the application deletes it.
  public var historyRetention = HistoryRetention.unlimited
  /// Whether the store's objects have stable IDs (``ManagedObject/stableID``), which are the same in all stores that contain the object.
  ///
  /// Nil leaves the store's setting unchanged. True assigns stable IDs to all existing and future objects, with a few entries for the whole
  /// store: neither opening it nor inserting objects takes longer. False removes the stable IDs; if it is later set to true again, all
  /// objects have new ones. Ignored if ``isReadOnly`` is set: the store keeps its setting.
  public var tracksObjectIdentity: Bool?
  /// See ``StoreMigrationRequest/willMigrate``.
  package var willMigrate: (@Sendable (any StoreMigrationSession) throws -> Void)?
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

/// The name and value type of a setting that a store class has in addition to the common settings.
///
/// A description contains a value for each key. Declare keys as static members, and list the class's settings in
/// ``IncrementalStore/settings`` so that a description can also be created from a dictionary:
///
/// ```swift
/// import CipherDataEngine
///
/// extension StoreSettingKey<Bool> {
///   static var isIndented: Self { Self("isIndented") }
/// }
/// ```
/// ```swift
/// var description = PersistentStoreDescription(type: StoreType(rawValue: "JSON"), url: url)
/// description[.isIndented] = true
/// ```
///
/// Keys with the same name but different value types identify different settings, so a value always has the type of its key.
public struct StoreSettingKey<Value: Sendable>: Sendable, Hashable {
  /// The name of the setting, used as its key in option dictionaries.
  public let name: String

  /// Creates a key.
  public init(_ name: String) { self.name = name }

  var identity: StoreSettingIdentity { StoreSettingIdentity(name: name, type: ObjectIdentifier(Value.self)) }
}

/// A setting key without its generic parameter.
struct StoreSettingIdentity: Sendable, Hashable {
  let name: String
  let type: ObjectIdentifier
}

/// A setting of a store class, for descriptions that are created from a dictionary.
public struct StoreSetting: Sendable {
  /// The key in a dictionary.
  public let name: String
  /// The name of the value type, for errors.
  let typeName: String
  /// Sets a value. Returns false if the value is of another type.
  let apply: @Sendable (any Sendable, inout PersistentStoreDescription) -> Bool

  /// Creates the setting of a key.
  public init<Value: Sendable>(_ key: StoreSettingKey<Value>) {
    name = key.name
    typeName = Self.typeName(Value.self)
    apply = { value, description in
      guard let value = value as? Value else { return false }
      description[key] = value
      return true
    }
  }

  /// Creates a setting that assigns a property of a description. The property's setter may do more than store the value.
  public init<Value: Sendable>(_ name: String, _ property: any WritableKeyPath<PersistentStoreDescription, Value> & Sendable) {
    self.name = name
    typeName = Self.typeName(Value.self)
    apply = { value, description in
      guard let value = value as? Value else { return false }
      description[keyPath: property] = value
      return true
    }
  }

  /// Returns the name of a value's type for error messages.
  static func typeName<Value: Sendable>(of value: Value) -> String { typeName(Value.self) }

  /// Returns the name of a value type for error messages, with an article.
  static func typeName<Value>(_ type: Value.Type) -> String {
    switch type {
    case is Bool.Type, is Bool?.Type: return "a Boolean"
    case is any BinaryInteger.Type, is Int?.Type: return "an integer"
    case is any BinaryFloatingPoint.Type, is Double?.Type, is NSNumber.Type: return "a number"
    case is String.Type, is String?.Type: return "a string"
    case is URL.Type, is URL?.Type: return "a URL"
    case is any Collection.Type: return "a collection"
    default:
      let name = "\(type)"
      return "a value of the type \(name.hasPrefix("Optional<") ? String(name.dropFirst(9).dropLast()) : name)"
    }
  }
}

extension PersistentStoreDescription {
  /// The settings of all stores. Their dictionary keys are the names of the description's properties.
  package static var commonSettings: [StoreSetting] {
    [
      StoreSetting("configuration", \.configuration), StoreSetting("isReadOnly", \.isReadOnly),
      StoreSetting("createsStore", \.createsStore),
      StoreSetting("shouldMigrateStoreAutomatically", \.shouldMigrateStoreAutomatically),
      StoreSetting("shouldInferMappingModelAutomatically", \.shouldInferMappingModelAutomatically),
      StoreSetting("defersLightweightMigration", \.defersLightweightMigration),
      StoreSetting("migrationBackupURL", \.migrationBackupURL), StoreSetting("migrationAuthor", \.migrationAuthor),
      StoreSetting("requiresTransformers", \.requiresTransformers),
      StoreSetting("historyTracking", \.historyTracking), StoreSetting("historyLevel", \.historyLevel),
      StoreSetting("historyRetention", \.historyRetention), StoreSetting("tracksObjectIdentity", \.tracksObjectIdentity),
      StoreSetting("postsRemoteChangeNotifications", \.postsRemoteChangeNotifications),
    ]
  }
}

/// The level of detail that a history records for each change.
public enum HistoryLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// The changed objects and properties. For deleted objects, the values of attributes that are marked `preservesValueInHistoryOnDeletion`
  /// are recorded too.
  case properties
  /// In addition, all values: those of inserted and deleted objects, and the old and new values of changed properties.
  case values
}

/// How long a history is kept. Older transactions are purged in batches after saves, but never before all registered consumers have read
/// them.
public enum HistoryRetention: Sendable, Hashable {
  /// Until the application deletes it.
  case unlimited
  /// The given number of seconds.
  case age(TimeInterval)
  /// The given number of transactions.
  case transactions(Int)
}

/// The settings of a history, saved in the store.
package struct HistorySettings: Sendable, Hashable, Codable {
  package var level: HistoryLevel

  package init(level: HistoryLevel = .properties) { self.level = level }
}

// MARK: - Reporting progress

extension Progress {
  /// A progress handler that updates this progress during a backup, key rotation, compaction, verification, or import. Canceling the
  /// progress cancels the operation at its next report.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 100)
  /// try await file.backUp(to: url, progress: progress.storeProgressHandler)
  /// ```
  ///
  /// The completed fraction of the operation is converted to the units of the progress. If the progress has no units, its total is set to
  /// 1,000. Use a progress for one operation only. It is updated on the thread of the operation.
  public var storeProgressHandler: @Sendable (_ done: Int, _ total: Int) -> Bool {
    { done, total in
      self.follow(total > 0 ? Double(done) / Double(total) : 0)
      return !self.isCancelled
    }
  }

  /// Updates the completed units. The total is reached only at the end of the operation.
  fileprivate func follow(_ fraction: Double) {
    if totalUnitCount <= 0 { totalUnitCount = 1_000 }
    completedUnitCount = fraction >= 1 ? totalUnitCount : min(Int64(fraction * Double(totalUnitCount)), totalUnitCount - 1)
  }
}

extension PersistentStoreDescription {
  /// Reports a migration that is performed when the store is added to a Foundation progress. Canceling the progress cancels the migration
  /// at its next report.
  ///
  /// An existing ``migrationProgress`` handler is still called. ``migrationCancellation`` is created if it is nil.
  ///
  /// - Parameter progress: Receives ``MigrationProgress/fractionCompleted`` in its own units. If it has none, its total is set to 1,000. It
  ///   is updated on the thread that migrates.
  public mutating func followMigration(with progress: Progress) {
    let cancellation = migrationCancellation ?? RequestCancellation()
    migrationCancellation = cancellation
    migrationProgress = { [previousHandler = migrationProgress] report in
      previousHandler?(report)
      progress.follow(report.fractionCompleted)
      if progress.isCancelled { cancellation.cancel() }
    }
  }
}
