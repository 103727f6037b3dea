// NSPersistentStoreCoordinator+Files: stores as files: metadata, moving, replacing and destroying.
public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore

/// The option of a store's key, a `StoreKey`: where options are given instead of a description.
public let NSPersistentStoreEncryptionKeyOption = "CipherData.EncryptionKey"
/// The metadata's notes of a model's version.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"

extension NSPersistentStoreCoordinator {
  /// What a store is, without opening it for work.
  ///
  /// - Parameters:
  ///   - storeType: The kind of store.
  ///   - url: Where it lies.
  ///   - options: What else there is to say, such as its key.
  /// - Throws: `NSError`.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value()
      return StoreMetadataDictionary.make(
        try Waiting.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: description) })
    }
  }

  /// Changes what a store says of itself, without opening it for work: texts under names of the application's own.
  ///
  /// - Parameters:
  ///   - metadata: The names and texts.
  ///   - storeType: The kind of store.
  ///   - url: Where it lies.
  ///   - options: What else there is to say, such as its key.
  /// - Throws: `NSError`.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value()
      let notes = StoreMetadataDictionary.notes(metadata ?? [:])
      try Waiting.run { try await PersistentStoreCoordinator.setUserMetadata(notes, forPersistentStoreWith: description) }
    }
  }

  /// What an open store says of itself.
  public func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Changes what an open store says of itself: texts under names of the application's own. What goes wrong is thrown by the next save.
  public func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    store.metadata = metadata
  }

  /// Does all that a migration has left for later.
  ///
  /// - Throws: `NSError`.
  public func finishDeferredLightweightMigration() throws {
    try CoreDataError.translating { try coordinator.finishDeferredLightweightMigration() }
  }

  /// Does one of the things that a migration has left for later.
  ///
  /// - Throws: `NSError`.
  public func finishDeferredLightweightMigrationTask() throws {
    _ = try CoreDataError.translating { try coordinator.finishDeferredLightweightMigrationTask() }
  }

  /// Where a store lies.
  public func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Deletes a store's files. Where it is open in this coordinator it is removed first; nobody else may have it open.
  ///
  /// If there is no store at the URL, the method does nothing, as Core Data does.
  ///
  /// - Parameters:
  ///   - url: Where it lies.
  ///   - storeType: The kind of store.
  ///   - options: What else there is to say.
  /// - Throws: `NSError`.
  public func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
    if let store = persistentStore(for: url) { try remove(store) }
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value(needsKey: false)
      try Waiting.run { [coordinator] in
        do { try await coordinator.destroyPersistentStore(with: description) } catch let error as StoreError
          where error.code == .storeNotFound
        {}
      }
    }
  }

  /// Puts a store's files in the place of another one's, which must not be open.
  ///
  /// - Parameters:
  ///   - destinationURL: Where the store will lie.
  ///   - destinationOptions: What else there is to say of the store that is replaced.
  ///   - sourceURL: Where it lies.
  ///   - sourceOptions: What else there is to say of it.
  ///   - storeType: The kind of store.
  /// - Throws: `NSError`.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    try CoreDataError.translating {
      var target = try NSPersistentStoreDescription(storeType, destinationURL, destinationOptions).value(needsKey: false)
      // Without a key among the options the copy opens with the keys of the source.
      if destinationOptions?[NSPersistentStoreEncryptionKeyOption] == nil { target.key = nil }
      let destination = target
      let source = try NSPersistentStoreDescription(storeType, sourceURL, sourceOptions).value(needsKey: false)
      try Waiting.run { [coordinator] in try await coordinator.replacePersistentStore(with: destination, withPersistentStoreFrom: source) }
    }
  }

  /// Moves what is in an open store to another place, where it stays open.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - url: The new place.
  ///   - options: What else there is to say, such as another key.
  ///   - storeType: The kind of store.
  /// - Returns: The store in its new place.
  /// - Throws: `NSError`.
  @discardableResult public func migratePersistentStore(
    _ store: NSPersistentStore, to url: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    try CoreDataError.translating {
      let description = NSPersistentStoreDescription(storeType, url, options)
      let value = try description.value()
      guard let open = store.store else { throw IncrementalStoreError.notOpen("\(type(of: store))") }
      let options = Lent<[AnyHashable: Any]?>(value: options)
      return try Waiting.run { [self] in
        try await StoreClasses.$opening.withValue((self, options)) {
          NSPersistentStore.of(try await coordinator.migratePersistentStore(open, to: value), of: self)
        }
      }
    }
  }
}

extension NSPersistentStoreDescription {
  /// A description of options as dictionaries give them.
  convenience init(_ type: String, _ url: URL?, _ options: [AnyHashable: Any]?) {
    self.init()
    (self.type, self.url) = (type, url)
    for (key, option) in options ?? [:] {
      if let pragmas = option as? [String: Any] {
        setOption(NSDictionary(dictionary: pragmas), forKey: "\(key)")
        continue
      }
      if key == AnyHashable(NSPersistentStoreEncryptionKeyOption) {
        encryptionKey = option as? StoreKey
      } else {
        setOption(option as? NSObject ?? (option as? Bool).map { NSNumber(value: $0) }, forKey: "\(key)")
      }
    }
  }
}

/// What stores say of themselves, as dictionaries.
enum StoreMetadataDictionary {
  static func make(_ metadata: StoreMetadata) -> [String: Any] {
    var values: [String: Any] = metadata.userMetadata
    values[NSStoreUUIDKey] = metadata.storeIdentifier
    values[NSStoreTypeKey] = NSPersistentStore.name(of: ObjectStore.StoreType(rawValue: metadata.storeType))
    values[NSStoreModelVersionHashesKey] = metadata.modelHashes
    values[NSStoreModelVersionIdentifiersKey] = metadata.versionIdentifiers.sorted()
    return values
  }

  /// The application's own names.
  static func notes(_ metadata: [String: Any]) -> [String: String] {
    let own: Set<String> = [NSStoreUUIDKey, NSStoreTypeKey, NSStoreModelVersionHashesKey, NSStoreModelVersionIdentifiersKey]
    return metadata.filter { !own.contains($0.key) }.mapValues { "\($0)" }
  }
}
