// Unavailable members of coordinators and stores, with their replacements.
public import Foundation

extension NSPersistentStoreCoordinator {
  /// Unavailable: execute requests with a context.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "give the request to the context's execute(_:), or a fetch request to its fetch(_:)")
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
  @available(*, unavailable, message: "use metadataForPersistentStore(ofType:at:options:), with the key among the options")
  public class func metadataForPersistentStore(with url: URL) throws -> [AnyHashable: Any] { [:] }
  /// Unavailable: deprecated in Core Data.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use metadataForPersistentStore(ofType:at:options:), with the key among the options")
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
  @available(*, unavailable, message: "use setMetadata(_:forPersistentStoreOfType:at:options:), with the key among the options")
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
  @available(*, unavailable, message: "ask the coordinator by metadataForPersistentStore(ofType:at:options:), with the key")
  public class func metadataForPersistentStore(with url: URL) throws -> [String: Any] { [:] }
  /// Unavailable: changing metadata requires the store's key.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "use the coordinator's setMetadata(_:forPersistentStoreOfType:at:options:), with the key")
  public class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {}
  /// Unavailable: all stores use the same migration manager.
  @available(*, unavailable, message: "all stores migrate by NSMigrationManager")
  public class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }
  /// Unavailable: Spotlight is not supported.
  @available(*, unavailable, message: "there is no Spotlight; give the entity a full-text index, and search it by a predicate with SEARCH")
  public var coreSpotlightExporter: NSObject { self }
}

/// Unavailable: there is no framework version.
@available(*, unavailable, message: "there is no framework whose version could be asked; leave the question out")
public var NSCoreDataVersionNumber: Double { 0 }
/// Unavailable: Spotlight is not supported.
@available(*, unavailable, message: "there is no Spotlight; leave the option out")
public var NSCoreDataCoreSpotlightExporter: String { "NSCoreDataCoreSpotlightExporter" }
/// Unavailable: a store with a different model always requires a migration.
@available(*, unavailable, message: "a store of another model is never opened as if it were of this one; let it migrate")
public var NSIgnorePersistentStoreVersioningOption: String {
  "NSIgnorePersistentStoreVersioningOption"
}
/// Unavailable: `SQLCipherStoreFile.updateStatistics` updates the query planner's statistics.
@available(*, unavailable, message: "SQLCipherStoreFile.updateStatistics of the library counts what the query planner goes by")
public var NSSQLiteAnalyzeOption: String { "NSSQLiteAnalyzeOption" }
/// Unavailable: `SQLCipherStoreFile.compact` releases unused pages.
@available(*, unavailable, message: "SQLCipherStoreFile.compact of the library gives unused pages back")
public var NSSQLiteManualVacuumOption: String { "NSSQLiteManualVacuumOption" }
/// Unavailable: open stores cannot be destroyed.
@available(*, unavailable, message: "destroyPersistentStore refuses while anybody has the store open, always; leave the option out")
public var NSPersistentStoreForceDestroyOption: String { "NSPersistentStoreForceDestroyOption" }
/// Unavailable: binary stores are not supported.
@available(*, unavailable, message: "there are no binary stores; leave the option out")
public var NSBinaryStoreInsecureDecodingCompatibilityOption: String {
  "NSBinaryStoreInsecureDecodingCompatibilityOption"
}
/// Unavailable: binary stores are not supported.
@available(*, unavailable, message: "there are no binary stores; leave the option out")
public var NSBinaryStoreSecureDecodingClasses: String { "NSBinaryStoreSecureDecodingClasses" }
/// Unavailable: XML stores are not supported.
@available(*, unavailable, message: "there are no XML stores; leave the option out")
public var NSValidateXMLStoreOption: String { "NSValidateXMLStoreOption" }
/// Unavailable: a store's metadata contains the version of its format.
@available(*, unavailable, message: "a store is of a format of its own, whose version its metadata has")
public var NSPersistentStoreOSCompatibility: String { "NSPersistentStoreOSCompatibility" }
/// Unavailable: hashes identify versions.
@available(*, unavailable, message: "compare NSStoreModelVersionHashesKey of the metadata")
public var NSPersistentStoreModelVersionChecksumKey: String {
  "NSPersistentStoreModelVersionChecksumKey"
}
