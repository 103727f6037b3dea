// Unavailable members of coordinators and stores, with their replacements.
public import Foundation

extension NSPersistentStoreCoordinator {
  /// Unavailable: execute requests with a context.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use the context's execute(_:), or fetch(_:) for fetch requests")
  public func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext)
    throws -> Any
  { request }
  /// Unavailable: the URL of an open store cannot change.
  @available(*, unavailable, message: "use migratePersistentStore(_:to:options:withType:)")
  public func setURL(_ url: URL, for store: NSPersistentStore) -> Bool { false }
  /// Unavailable: object IDs have no C string form.
  @available(*, unavailable, message: "use managedObjectID(forURIRepresentation:)")
  public func managedObjectID(fromUTF8String utf8String: UnsafePointer<CChar>, length: Int)
    -> NSManagedObjectID?
  { nil }
  /// Unavailable: a store contains its own model.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "open the store, which migrates it")
  public class func cachedModelForPersistentStore(at url: URL, options: [AnyHashable: Any]? = nil)
    throws -> NSManagedObjectModel
  {
    NSManagedObjectModel()
  }
  /// Unavailable: deprecated in Core Data.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use metadataForPersistentStore(ofType:at:options:), with the key in the options")
  public class func metadataForPersistentStore(with url: URL) throws -> [AnyHashable: Any] { [:] }
  /// Unavailable: deprecated in Core Data.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use metadataForPersistentStore(ofType:at:options:), with the key in the options")
  public class func metadataForPersistentStore(ofType storeType: String?, at url: URL) throws
    -> [String: Any]
  { [:] }
  /// Unavailable: deprecated in Core Data.
  ///
  /// - Parameters:
  ///   - metadata: The metadata.
  ///   - storeType: The store type.
  ///   - url: The store's URL.
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use setMetadata(_:forPersistentStoreOfType:at:options:), with the key in the options")
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String?, at url: URL
  ) throws {}
  /// Unavailable: deprecated in Core Data.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "there are no stores in iCloud; use destroyPersistentStore(at:ofType:options:)")
  public class func removeUbiquitousContentAndPersistentStore(
    at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws {}
  /// Unavailable: deprecated in Core Data.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The store's identifier.
  ///   - externalRecordsURL: The URL of the external records.
  ///   - destinationURL: The URL of the new store.
  ///   - options: The store options.
  ///   - storeType: The store type.
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "there are no external records; the library's CoreDataStore imports stores of Core Data")
  public func importStore(
    withIdentifier storeIdentifier: String?, fromExternalRecordsDirectory externalRecordsURL: URL,
    to destinationURL: URL,
    options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore { throw CocoaError(.featureUnsupported) }
  /// Unavailable: a coordinator is used on its queue.
  @available(*, unavailable, message: "use perform and performAndWait")
  public func lock() {}
  /// Unavailable: a coordinator is used on its queue.
  @available(*, unavailable, message: "use perform and performAndWait")
  public func unlock() {}
  /// Unavailable: a coordinator is used on its queue.
  @available(*, unavailable, message: "use perform and performAndWait")
  public func tryLock() -> Bool { false }
}

extension NSPersistentStore {
  /// Unavailable: reading metadata requires the store's key.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use the coordinator's metadataForPersistentStore(ofType:at:options:), with the key")
  public class func metadataForPersistentStore(with url: URL) throws -> [String: Any] { [:] }
  /// Unavailable: changing metadata requires the store's key.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use the coordinator's setMetadata(_:forPersistentStoreOfType:at:options:), with the key")
  public class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {}
  /// Unavailable: all stores use the same migration manager.
  @available(*, unavailable, message: "all stores migrate with NSMigrationManager")
  public class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }
  /// Unavailable: Spotlight is not supported.
  @available(*, unavailable, message: "there is no Spotlight; add a full-text index to the entity, and search with SEARCH")
  public var coreSpotlightExporter: NSObject { self }
}

/// Unavailable: there is no framework version.
@available(*, unavailable, message: "there is no framework version; remove the check")
public var NSCoreDataVersionNumber: Double { 0 }
/// Unavailable: Spotlight is not supported.
@available(*, unavailable, message: "there is no Spotlight; remove the option")
public var NSCoreDataCoreSpotlightExporter: String { "NSCoreDataCoreSpotlightExporter" }
/// Unavailable: a store with a different model always requires a migration.
@available(*, unavailable, message: "a store with another model cannot be opened without migration; migrate it")
public var NSIgnorePersistentStoreVersioningOption: String {
  "NSIgnorePersistentStoreVersioningOption"
}
/// Unavailable: `SQLCipherStoreFile.updateStatistics` updates the query planner's statistics.
@available(*, unavailable, message: "SQLCipherStoreFile.updateStatistics updates the query planner's statistics")
public var NSSQLiteAnalyzeOption: String { "NSSQLiteAnalyzeOption" }
/// Unavailable: `SQLCipherStoreFile.compact` releases unused pages.
@available(*, unavailable, message: "SQLCipherStoreFile.compact frees unused pages")
public var NSSQLiteManualVacuumOption: String { "NSSQLiteManualVacuumOption" }
/// Unavailable: open stores cannot be destroyed.
@available(*, unavailable, message: "destroyPersistentStore always fails while the store is open; remove the option")
public var NSPersistentStoreForceDestroyOption: String { "NSPersistentStoreForceDestroyOption" }
/// Unavailable: binary stores are not supported.
@available(*, unavailable, message: "there are no binary stores; remove the option")
public var NSBinaryStoreInsecureDecodingCompatibilityOption: String {
  "NSBinaryStoreInsecureDecodingCompatibilityOption"
}
/// Unavailable: binary stores are not supported.
@available(*, unavailable, message: "there are no binary stores; remove the option")
public var NSBinaryStoreSecureDecodingClasses: String { "NSBinaryStoreSecureDecodingClasses" }
/// Unavailable: XML stores are not supported.
@available(*, unavailable, message: "there are no XML stores; remove the option")
public var NSValidateXMLStoreOption: String { "NSValidateXMLStoreOption" }
/// Unavailable: a store's metadata contains the version of its format.
@available(*, unavailable, message: "stores have their own format, whose version is in the metadata")
public var NSPersistentStoreOSCompatibility: String { "NSPersistentStoreOSCompatibility" }
/// Unavailable: hashes identify versions.
@available(*, unavailable, message: "compare NSStoreModelVersionHashesKey of the metadata")
public var NSPersistentStoreModelVersionChecksumKey: String {
  "NSPersistentStoreModelVersionChecksumKey"
}
