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
