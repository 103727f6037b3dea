public import Foundation
package import ObjectStore
import SQLCipherStore
import Synchronization

/// An open store, and the base class of custom stores.
open class NSPersistentStore: NSObject, @unchecked Sendable {  // the mutex guards the mutable state
  /// The underlying store; nil for a custom store that is not open.
  package final var store: PersistentStore? { state.withLock { $0.store } }
  /// The coordinator of the store; nil if the store was not obtained from one.
  public final var persistentStoreCoordinator: NSPersistentStoreCoordinator? { state.withLock { SendableBox(value: $0.coordinator) }.value }

  private struct State {
    var store: PersistentStore?
    weak var coordinator: NSPersistentStoreCoordinator?
    var url: URL?
    var configurationName: String?
    var options: SendableBox<[AnyHashable: Any]?>
    var metadata: SendableBox<[String: Any]?>
  }
  private let state: Mutex<State>

  private init(_ store: PersistentStore, _ coordinator: NSPersistentStoreCoordinator?) {
    state = Mutex(State(store: store, coordinator: coordinator, options: SendableBox(value: nil), metadata: SendableBox(value: nil)))
  }

  /// Returns the object for a store; for a custom store, the instance of its class.
  package static func of(_ store: PersistentStore, of coordinator: NSPersistentStoreCoordinator? = nil) -> NSPersistentStore {
    (store.incrementalStore as? any AdaptedStore)?.shown ?? NSPersistentStore(store, coordinator)
  }

  /// Creates a custom store. Only coordinators call this initializer; it reads and writes nothing.
  ///
  /// - Parameters:
  ///   - root: The coordinator.
  ///   - name: The model configuration of the store; nil for all entities.
  ///   - url: The store's URL.
  ///   - options: The store options.
  public required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    state = Mutex(
      State(
        coordinator: root, url: url, configurationName: name, options: SendableBox(value: options), metadata: SendableBox(value: nil)))
  }

  /// Sets the underlying store of a custom store that was opened.
  final func didOpen(_ store: PersistentStore) { state.withLock { $0.store = store } }

  /// The store's URL.
  public final var url: URL? { state.withLock { $0.store?.url ?? $0.url } }
  /// The store's identifier. A custom store's metadata contains it.
  open var identifier: String { store?.identifier ?? ownMetadata?[NSStoreUUIDKey] as? String ?? "" }
  /// The store's type.
  open var type: String {
    guard let type = store?.type else { return ownMetadata?[NSStoreTypeKey] as? String ?? "" }
    return Self.name(of: type)
  }
  /// Returns Core Data's name of a store type.
  static func name(of type: ObjectStore.StoreType) -> String {
    type == .inMemory ? NSInMemoryStoreType : type == .sqlcipher ? NSSQLiteStoreType : type.rawValue
  }
  /// Whether the store is read-only.
  open var isReadOnly: Bool { store?.isReadOnly ?? false }
  /// The model configuration of the store.
  public final var configurationName: String {
    state.withLock { $0.store?.configurationName ?? $0.configurationName } ?? "PF_DEFAULT_CONFIGURATION_NAME"
  }
  /// The options that the store was opened with.
  public final var options: [AnyHashable: Any]? {
    if let own = state.withLock({ $0.options }).value { return own }
    guard let description = store?.storeDescription else { return nil }
    var options: [AnyHashable: Any] = [
      NSReadOnlyPersistentStoreOption: description.isReadOnly,
      NSMigratePersistentStoresAutomaticallyOption: description.shouldMigrateStoreAutomatically,
      NSInferMappingModelAutomaticallyOption: description.shouldInferMappingModelAutomatically,
      NSPersistentStoreRemoteChangeNotificationPostOptionKey: description.postsRemoteChangeNotifications,
    ]
    if let tracking = description.historyTracking { options[NSPersistentHistoryTrackingKey] = tracking }
    return options
  }

  private final var ownMetadata: [String: Any]? { state.withLock { $0.metadata }.value }

  /// The store's metadata.
  ///
  /// A custom store sets it when it is loaded, with its identifier under ``NSStoreUUIDKey``. For other stores, only strings under the
  /// application's own names are stored.
  open var metadata: [String: Any]! {
    get { ownMetadata ?? store.map { StoreMetadataDictionary.make($0.metadata) } }
    set {
      if !(self is NSIncrementalStore), let store {
        try? store.setUserMetadata(StoreMetadataDictionary.notes(newValue ?? [:]))
      } else {
        let boxed = SendableBox<[String: Any]?>(value: newValue)
        state.withLock { $0.metadata = boxed }
      }
    }
  }

  /// Called after the store was added to a coordinator. The default implementation does nothing.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}
  /// Called before the store is removed from a coordinator. The default implementation does nothing.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// Returns whether both objects represent the same store.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPersistentStore else { return false }
    return other === self || store != nil && other.store === store
  }
  /// A hash of the store's identity.
  open override var hash: Int { store.map { ObjectIdentifier($0).hashValue } ?? ObjectIdentifier(self).hashValue }
}

/// The implementation behind a custom store.
protocol AdaptedStore {
  var shown: NSIncrementalStore { get }
}

// MARK: - Store types

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
