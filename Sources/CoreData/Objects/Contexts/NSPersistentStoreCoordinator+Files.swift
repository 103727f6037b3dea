public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore

/// The option of a store's key, a `StoreKey`, where options are passed instead of a description.
public let NSPersistentStoreEncryptionKeyOption = "CipherData.EncryptionKey"
/// The metadata key of the model's version identifiers.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"

extension NSPersistentStoreCoordinator {
  /// Returns a store's metadata without adding it to a coordinator.
  ///
  /// - Parameters:
  ///   - storeType: The store type.
  ///   - url: The store's URL.
  ///   - options: The store options, such as its key.
  /// - Throws: `NSError`.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value()
      return StoreMetadataDictionary.make(
        try BlockingTask.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: description) })
    }
  }

  /// Sets a store's metadata without adding it to a coordinator. Only strings under the application's own names are set.
  ///
  /// - Parameters:
  ///   - metadata: The metadata.
  ///   - storeType: The store type.
  ///   - url: The store's URL.
  ///   - options: The store options, such as its key.
  /// - Throws: `NSError`.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value()
      let notes = StoreMetadataDictionary.notes(metadata ?? [:])
      try BlockingTask.run { try await PersistentStoreCoordinator.setUserMetadata(notes, forPersistentStoreWith: description) }
    }
  }
}

extension NSPersistentStoreDescription {
  /// Creates a description from an options dictionary.
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

/// Converts metadata to and from dictionaries.
enum StoreMetadataDictionary {
  static func make(_ metadata: StoreMetadata) -> [String: Any] {
    var values: [String: Any] = metadata.userMetadata
    values[NSStoreUUIDKey] = metadata.storeIdentifier
    values[NSStoreTypeKey] = NSPersistentStore.name(of: ObjectStore.StoreType(rawValue: metadata.storeType))
    values[NSStoreModelVersionHashesKey] = metadata.modelHashes
    values[NSStoreModelVersionIdentifiersKey] = metadata.versionIdentifiers.sorted()
    return values
  }

  /// Returns the metadata under the application's own names.
  static func notes(_ metadata: [String: Any]) -> [String: String] {
    let own: Set<String> = [NSStoreUUIDKey, NSStoreTypeKey, NSStoreModelVersionHashesKey, NSStoreModelVersionIdentifiersKey]
    return metadata.filter { !own.contains($0.key) }.mapValues { "\($0)" }
  }
}
