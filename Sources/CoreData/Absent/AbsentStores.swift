// AbsentStores: what coordinators and stores do not have, with what to do instead.
public import Foundation

extension NSPersistentStoreCoordinator {
  /// Absent: contexts ask.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "give the request to the context's execute(_:), or a fetch request to its fetch(_:)")
  public func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext)
    throws -> Any
  { request }
  /// Absent: a store stays where it is.
  @available(*, unavailable, message: "use migratePersistentStore(_:to:options:withType:)")
  public func setURL(_ url: URL, for store: NSPersistentStore) -> Bool { false }
  /// Absent: what a store is made of is no text of C.
  @available(*, unavailable, message: "use managedObjectID(forURIRepresentation:)")
  public func managedObjectID(fromUTF8String utf8String: UnsafePointer<CChar>, length: Int)
    -> NSManagedObjectID?
  { nil }
  /// Absent: a store has its own model.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "open the store, which migrates it")
  public class func cachedModelForPersistentStore(at url: URL, options: [AnyHashable: Any]? = nil)
    throws -> NSManagedObjectModel
  {
    NSManagedObjectModel()
  }
  /// Absent: Core Data itself has gone from it.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "use metadataForPersistentStore(ofType:at:options:), with the key among the options")
  public class func metadataForPersistentStore(with url: URL) throws -> [AnyHashable: Any] { [:] }
  /// Absent: Core Data itself has gone from it.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "use metadataForPersistentStore(ofType:at:options:), with the key among the options")
  public class func metadataForPersistentStore(ofType storeType: String?, at url: URL) throws
    -> [String: Any]
  { [:] }
  /// Absent: Core Data itself has gone from it.
  ///
  /// - Parameters:
  ///   - metadata: The names and texts.
  ///   - storeType: The kind of store.
  ///   - url: Where it lies.
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "use setMetadata(_:forPersistentStoreOfType:at:options:), with the key among the options")
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String?, at url: URL
  ) throws {}
  /// Absent: Core Data itself has gone from it.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "there are no stores in iCloud; use destroyPersistentStore(at:ofType:options:)")
  public class func removeUbiquitousContentAndPersistentStore(
    at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws {}
  /// Absent: Core Data itself has gone from it.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The store.
  ///   - externalRecordsURL: Where the records are.
  ///   - destinationURL: Where the store will be.
  ///   - options: What else there is to say.
  ///   - storeType: The kind of store.
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "there are no external records; the library's CoreDataStore imports stores of Core Data")
  public func importStore(
    withIdentifier storeIdentifier: String?, fromExternalRecordsDirectory externalRecordsURL: URL,
    to destinationURL: URL,
    options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore { throw CocoaError(.featureUnsupported) }
  /// Absent: a coordinator is used on its queue.
  @available(*, unavailable, message: "use perform and performAndWait")
  public func lock() {}
  /// Absent: a coordinator is used on its queue.
  @available(*, unavailable, message: "use perform and performAndWait")
  public func unlock() {}
  /// Absent: a coordinator is used on its queue.
  @available(*, unavailable, message: "use perform and performAndWait")
  public func tryLock() -> Bool { false }
}

extension NSPersistentStore {
  /// Absent: a store is asked with its key.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "ask the coordinator by metadataForPersistentStore(ofType:at:options:), with the key")
  public class func metadataForPersistentStore(with url: URL) throws -> [String: Any] { [:] }
  /// Absent: a store is asked with its key.
  ///
  /// - Throws: Nothing, as nobody can call it.
  @available(*, unavailable, message: "use the coordinator's setMetadata(_:forPersistentStoreOfType:at:options:), with the key")
  public class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {}
  /// Absent: all stores migrate by the same.
  @available(*, unavailable, message: "all stores migrate by NSMigrationManager")
  public class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }
  /// Absent: there is no Spotlight.
  @available(*, unavailable, message: "there is no Spotlight; give the entity a full-text index, and search it by a predicate with SEARCH")
  public var coreSpotlightExporter: NSObject { self }
}

/// Absent: it is the framework's version.
@available(*, unavailable, message: "there is no framework whose version could be asked; leave the question out")
public var NSCoreDataVersionNumber: Double { 0 }
/// Absent: there is no Spotlight.
@available(*, unavailable, message: "there is no Spotlight; leave the option out")
public var NSCoreDataCoreSpotlightExporter: String { "NSCoreDataCoreSpotlightExporter" }
/// Absent: a store of another model is never opened as if it were of this one.
@available(*, unavailable, message: "a store of another model is never opened as if it were of this one; let it migrate")
public var NSIgnorePersistentStoreVersioningOption: String {
  "NSIgnorePersistentStoreVersioningOption"
}
/// Absent: the store counts what its planner goes by.
@available(*, unavailable, message: "SQLCipherStoreFile.updateStatistics of the library counts what the query planner goes by")
public var NSSQLiteAnalyzeOption: String { "NSSQLiteAnalyzeOption" }
/// Absent: unused pages are given back by a function.
@available(*, unavailable, message: "SQLCipherStoreFile.compact of the library gives unused pages back")
public var NSSQLiteManualVacuumOption: String { "NSSQLiteManualVacuumOption" }
/// Absent: stores that are open are never destroyed.
@available(*, unavailable, message: "destroyPersistentStore refuses while anybody has the store open, always; leave the option out")
public var NSPersistentStoreForceDestroyOption: String { "NSPersistentStoreForceDestroyOption" }
/// Absent: there are no binary stores.
@available(*, unavailable, message: "there are no binary stores; leave the option out")
public var NSBinaryStoreInsecureDecodingCompatibilityOption: String {
  "NSBinaryStoreInsecureDecodingCompatibilityOption"
}
/// Absent: there are no binary stores.
@available(*, unavailable, message: "there are no binary stores; leave the option out")
public var NSBinaryStoreSecureDecodingClasses: String { "NSBinaryStoreSecureDecodingClasses" }
/// Absent: there are no XML stores.
@available(*, unavailable, message: "there are no XML stores; leave the option out")
public var NSValidateXMLStoreOption: String { "NSValidateXMLStoreOption" }
/// Absent: a store is of a format of its own.
@available(*, unavailable, message: "a store is of a format of its own, whose version its metadata has")
public var NSPersistentStoreOSCompatibility: String { "NSPersistentStoreOSCompatibility" }
/// Absent: versions are told apart by hashes.
@available(*, unavailable, message: "compare NSStoreModelVersionHashesKey of the metadata")
public var NSPersistentStoreModelVersionChecksumKey: String {
  "NSPersistentStoreModelVersionChecksumKey"
}
