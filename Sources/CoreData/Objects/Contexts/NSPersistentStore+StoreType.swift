public import Foundation

extension NSPersistentStore {
  /// A store type.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The type's name.
    public let rawValue: String
    /// Creates a type from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// An encrypted store in a file.
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    /// An in-memory store.
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
    /// A store in one file that is read and written as a whole: see ``NSBinaryStoreType``.
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
  }

  /// The store's type.
  public var storeType: StoreType { StoreType(rawValue: type) }
}

extension NSPersistentStore.StoreType {
  /// The type of XML stores, which are not supported: opening one fails with an error that says so.
  @available(*, deprecated, message: "there are no XML stores, since everything that is written is encrypted; use sqlite")
  public static var xml: NSPersistentStore.StoreType {
    NSPersistentStore.StoreType(rawValue: "XML")
  }
}

extension NSPersistentStoreCoordinator {
  /// Opens a store.
  ///
  /// - Parameters:
  ///   - type: The store type.
  ///   - configuration: The model configuration of the store; nil for all entities.
  ///   - storeURL: The store's URL.
  ///   - options: The store options.
  /// - Returns: The store.
  /// - Throws: `NSError`.
  @discardableResult public func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Deletes a store's files. A store that is open in this coordinator is removed first; it must not be open elsewhere.
  ///
  /// - Parameters:
  ///   - url: The store's URL.
  ///   - type: The store type.
  ///   - options: The store options.
  /// - Throws: `NSError`.
  public func destroyPersistentStore(at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil) throws {
    try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
  }

  /// Moves an open store to another URL, where it stays open.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - storeURL: The new URL.
  ///   - options: The store options.
  ///   - type: The store type.
  /// - Returns: The store at its new URL.
  /// - Throws: `NSError`.
  @discardableResult public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil, type: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: storeURL, options: options, withType: type.rawValue)
  }

  /// Replaces a store, which must not be open, with the files of another one.
  ///
  /// - Parameters:
  ///   - destinationURL: The URL of the store to replace.
  ///   - destinationOptions: The options of the store to replace.
  ///   - sourceURL: The URL of the source store.
  ///   - sourceOptions: The options of the source store.
  ///   - sourceType: The store type.
  /// - Throws: `NSError`.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, type sourceType: NSPersistentStore.StoreType
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL, sourceOptions: sourceOptions,
      ofType: sourceType.rawValue)
  }

  /// Returns a store's metadata without adding it to a coordinator.
  ///
  /// - Parameters:
  ///   - type: The store type.
  ///   - url: The store's URL.
  ///   - options: The store options, such as its key.
  /// - Throws: `NSError`.
  public class func metadataForPersistentStore(
    type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
  }

  /// Sets a store's metadata without adding it to a coordinator. Only strings under the application's own names are set.
  ///
  /// - Parameters:
  ///   - metadata: The metadata.
  ///   - type: The store type.
  ///   - url: The store's URL.
  ///   - options: The store options, such as its key.
  /// - Throws: `NSError`.
  public class func setMetadata(
    _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
  }
}
