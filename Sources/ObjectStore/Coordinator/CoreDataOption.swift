public import Foundation

/// An option of Core Data's stores, with its counterpart in this library. Used for option dictionaries from existing code.
/// `Documentation/StoreOptions.md` contains the same table.
package enum CoreDataOption: String, Sendable, CaseIterable {
  case readOnly = "NSReadOnlyPersistentStoreOption"
  case timeout = "NSPersistentStoreTimeoutOption"
  case pragmas = "NSSQLitePragmasOption"
  case analyze = "NSSQLiteAnalyzeOption"
  case manualVacuum = "NSSQLiteManualVacuumOption"
  case fileProtection = "NSPersistentStoreFileProtectionKey"
  case connectionPoolSize = "NSPersistentStoreConnectionPoolMaxSizeKey"
  case ignoresVersioning = "NSIgnorePersistentStoreVersioningOption"
  case migratesAutomatically = "NSMigratePersistentStoresAutomaticallyOption"
  case infersMappingModel = "NSInferMappingModelAutomaticallyOption"
  case defersLightweightMigration = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
  case stagedMigrationManager = "NSPersistentStoreStagedMigrationManagerOptionKey"
  case historyTracking = "NSPersistentHistoryTrackingKey"
  case remoteChangeNotification = "NSPersistentStoreRemoteChangeNotificationPostOptionKey"
  case forceDestroy = "NSPersistentStoreForceDestroyOption"
  case secureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
  case insecureDecoding = "NSBinaryStoreInsecureDecodingCompatibilityOption"
  case validatesXML = "NSValidateXMLStoreOption"
  case osCompatibility = "NSPersistentStoreOSCompatibility"
  case ubiquitousContentName = "NSPersistentStoreUbiquitousContentNameKey"
  case ubiquitousContentURL = "NSPersistentStoreUbiquitousContentURLKey"
  case ubiquitousPeerToken = "NSPersistentStoreUbiquitousPeerTokenOption"
  case removesUbiquitousMetadata = "NSPersistentStoreRemoveUbiquitousMetadataOption"
  case ubiquitousContainer = "NSPersistentStoreUbiquitousContainerIdentifierKey"
  case rebuildsFromUbiquitousContent = "NSPersistentStoreRebuildFromUbiquitousContentOption"

  /// The counterpart in this library, or the reason why there is none.
  package var counterpart: String {
    switch self {
    case .readOnly: "set isReadOnly"
    case .timeout: "set busyTimeout"
    case .pragmas: "no SQL is passed through; durability, cacheSize, enforcesForeignKeys and format say what it is used for"
    case .analyze: "SQLCipherStoreFile.updateStatistics updates the query planner's statistics"
    case .manualVacuum: "SQLCipherStoreFile.compact frees unused pages"
    case .fileProtection: "the store is encrypted, always; set key"
    case .connectionPoolSize: "set maximumReaderCount"
    case .ignoresVersioning: "a store of another model is never opened as if it were of this one"
    case .migratesAutomatically: "set shouldMigrateStoreAutomatically"
    case .infersMappingModel: "set shouldInferMappingModelAutomatically"
    case .defersLightweightMigration: "set defersLightweightMigration"
    case .stagedMigrationManager: "set stagedMigrationManager of the description"
    case .historyTracking: "set historyTracking"
    case .remoteChangeNotification: "set postsRemoteChangeNotifications"
    case .forceDestroy: "destroyPersistentStore(with:) always fails while the store is open"
    case .secureDecodingClasses, .insecureDecoding: "there are no binary stores, and nothing is decoded by class name"
    case .validatesXML: "there is no XML store"
    case .osCompatibility: "stores have their own format, whose version is in the metadata"
    case .ubiquitousContentName, .ubiquitousContentURL, .ubiquitousPeerToken, .removesUbiquitousMetadata, .ubiquitousContainer,
      .rebuildsFromUbiquitousContent:
      "stores in iCloud are withdrawn from Core Data itself"
    }
  }
}

// MARK: - Creation from Core Data options

extension PersistentStoreDescription {
  /// Creates a description from a dictionary of options, such as a configuration file. The names of options are those of the description's
  /// properties.
  ///
  /// - Parameters:
  ///   - type: The type of the store, whose class defines the available options.
  ///   - url: The location of the store, or nil for stores without a file.
  ///   - options: The options by name.
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidOption`` if an option is unknown (including Core Data's option names) or its
  ///   value is of another type; with ``StoreError/Code/unknownStoreType`` if no class is registered for the type.
  public init(type: StoreType, url: URL? = nil, options: [String: any Sendable]) throws(StoreError) {
    self.init(type: type, url: url)
    guard let storeClass = PersistentStoreCoordinator.storeClass(of: type) else {
      throw PersistentStoreCoordinator.unknownType(self)
    }
    let settings = Dictionary((Self.commonSettings + storeClass.settings).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    for (name, value) in options.sorted(by: { $0.key < $1.key }) {
      guard let setting = settings[name] else {
        let reason =
          CoreDataOption(rawValue: name).map { StoreError.Reason.coreDataOption(name, counterpart: $0.counterpart) }
          ?? .unknownOption(name, type: type.rawValue, known: Array(settings.keys))
        throw StoreError(reason, operation: .open, path: url?.path)
      }
      if !setting.apply(value, &self) {
        throw StoreError(
          .optionOfAnotherType(name, expected: setting.typeName, found: StoreSetting.typeName(of: value)), operation: .open, path: url?.path
        )
      }
    }
  }
}
