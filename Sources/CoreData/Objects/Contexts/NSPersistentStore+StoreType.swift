// NSPersistentStore+StoreType: kinds of stores by their short names.
public import Foundation

extension NSPersistentStore {
  /// A kind of store.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The name.
    public let rawValue: String
    /// A kind of a name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The encrypted store in a file.
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    /// A store in memory.
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
    /// A store in one file that is read and written as a whole: see ``NSBinaryStoreType``.
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
  }

  /// Its kind, by its short name.
  public var storeType: StoreType { StoreType(rawValue: type) }
}

extension NSPersistentStore.StoreType {
  /// The name of stores in XML files, of which there are none: what is opened by it fails with an error that says so.
  @available(*, deprecated, message: "there are no XML stores, since everything that is written is encrypted; use sqlite")
  public static var xml: NSPersistentStore.StoreType {
    NSPersistentStore.StoreType(rawValue: "XML")
  }
}

extension NSPersistentStoreCoordinator {
  /// Opens a store.
  ///
  /// - Parameters:
  ///   - type: The kind of store.
  ///   - configuration: The configuration of the model whose entities it holds; nil for all.
  ///   - storeURL: Where it lies.
  ///   - options: What else there is to say.
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
  ///   - url: Where it lies.
  ///   - type: The kind of store.
  ///   - options: What else there is to say.
  /// - Throws: `NSError`.
  public func destroyPersistentStore(at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil) throws {
    try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
  }

  /// Moves what is in an open store to another place, where it stays open.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - storeURL: The new place.
  ///   - options: What else there is to say.
  ///   - type: The kind of store.
  /// - Returns: The store in its new place.
  /// - Throws: `NSError`.
  @discardableResult public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil, type: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: storeURL, options: options, withType: type.rawValue)
  }

  /// Puts a store's files in the place of another one's, which must not be open.
  ///
  /// - Parameters:
  ///   - destinationURL: Where the store will lie.
  ///   - destinationOptions: What else there is to say of the store that is replaced.
  ///   - sourceURL: Where it lies.
  ///   - sourceOptions: What else there is to say of it.
  ///   - sourceType: The kind of store.
  /// - Throws: `NSError`.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, type sourceType: NSPersistentStore.StoreType
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL, sourceOptions: sourceOptions,
      ofType: sourceType.rawValue)
  }

  /// What a store is, without opening it for work.
  ///
  /// - Parameters:
  ///   - type: The kind of store.
  ///   - url: Where it lies.
  ///   - options: What else there is to say, such as its key.
  /// - Throws: `NSError`.
  public class func metadataForPersistentStore(
    type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
  }

  /// Changes what a store says of itself, without opening it for work: texts under names of the application's own.
  ///
  /// - Parameters:
  ///   - metadata: The names and texts.
  ///   - type: The kind of store.
  ///   - url: Where it lies.
  ///   - options: What else there is to say, such as its key.
  /// - Throws: `NSError`.
  public class func setMetadata(
    _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
  }
}
