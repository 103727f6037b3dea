// NSPersistentStore: an open store, as an object, and what stores of the application's own inherit.
public import Foundation
package import ObjectStore
import SQLCipherStore
import Synchronization

/// An open store.
open class NSPersistentStore: NSObject, @unchecked Sendable {  // the mutex guards what changes
  /// The store as its coordinator has it; nil for a store of the application's own that is not open.
  package final var store: PersistentStore? { state.withLock { $0.store } }
  /// The coordinator that has it open; nil where the store was not asked of one.
  public final var persistentStoreCoordinator: NSPersistentStoreCoordinator? { state.withLock { Lent(value: $0.coordinator) }.value }

  private struct State {
    var store: PersistentStore?
    weak var coordinator: NSPersistentStoreCoordinator?
    var url: URL?
    var configurationName: String?
    var options: Lent<[AnyHashable: Any]?>
    var metadata: Lent<[String: Any]?>
  }
  private let state: Mutex<State>

  private init(_ store: PersistentStore, _ coordinator: NSPersistentStoreCoordinator?) {
    state = Mutex(State(store: store, coordinator: coordinator, options: Lent(value: nil), metadata: Lent(value: nil)))
  }

  /// The object of a store: its own, where it is of a class of the application.
  package static func of(_ store: PersistentStore, of coordinator: NSPersistentStoreCoordinator? = nil) -> NSPersistentStore {
    (store.incrementalStore as? any ShownStore)?.shown ?? NSPersistentStore(store, coordinator)
  }

  /// A store of the application's own. Coordinators call this; nothing is read or written.
  ///
  /// - Parameters:
  ///   - root: The coordinator.
  ///   - name: The configuration of the model whose entities it holds; nil for all.
  ///   - url: Where it lies.
  ///   - options: What else was said.
  public required init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    state = Mutex(
      State(
        coordinator: root, url: url, configurationName: name, options: Lent(value: options), metadata: Lent(value: nil)))
  }

  /// The store of the application's own is open.
  final func noteOpened(_ store: PersistentStore) { state.withLock { $0.store = store } }

  /// Where it lies.
  public final var url: URL? { state.withLock { $0.store?.url ?? $0.url } }
  /// Its identifier; of a store of the application's own that its metadata name.
  open var identifier: String { store?.identifier ?? ownMetadata?[NSStoreUUIDKey] as? String ?? "" }
  /// Its kind.
  open var type: String {
    guard let type = store?.type else { return ownMetadata?[NSStoreTypeKey] as? String ?? "" }
    return Self.name(of: type)
  }
  /// The name of a kind, as Core Data has it.
  static func name(of type: ObjectStore.StoreType) -> String {
    type == .inMemory ? NSInMemoryStoreType : type == .sqlcipher ? NSSQLiteStoreType : type.rawValue
  }
  /// Whether it is only read.
  open var isReadOnly: Bool { store?.isReadOnly ?? false }
  /// The configuration of the model whose entities it holds.
  public final var configurationName: String {
    state.withLock { $0.store?.configurationName ?? $0.configurationName } ?? "PF_DEFAULT_CONFIGURATION_NAME"
  }
  /// How it was opened.
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

  /// What the store says of itself. A store of the application's own sets it when it is loaded, with its identifier under ``NSStoreUUIDKey``; of others the
  /// texts under names of the application's own are kept.
  open var metadata: [String: Any]! {
    get { ownMetadata ?? store.map { StoreMetadataDictionary.make($0.metadata) } }
    set {
      if !(self is NSIncrementalStore), let store {
        try? store.setUserMetadata(StoreMetadataDictionary.notes(newValue ?? [:]))
      } else {
        let lent = Lent<[String: Any]?>(value: newValue)
        state.withLock { $0.metadata = lent }
      }
    }
  }

  /// Called once the store is one of a coordinator's. This implementation does nothing.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}
  /// Called before the store is taken away from a coordinator. This implementation does nothing.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// Stores are equal where they are the same.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPersistentStore else { return false }
    return other === self || store != nil && other.store === store
  }
  /// The hash of the identity.
  open override var hash: Int { store.map { ObjectIdentifier($0).hashValue } ?? ObjectIdentifier(self).hashValue }
}

/// What stands behind a store of the application's own.
protocol ShownStore {
  var shown: NSIncrementalStore { get }
}
