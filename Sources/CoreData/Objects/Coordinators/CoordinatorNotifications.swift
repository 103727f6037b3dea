public import Foundation
import ObjectContext
import ObjectStore
import Synchronization

/// The user info key of the stores that a coordinator opened.
public let NSAddedPersistentStoresKey = "added"
/// The user info key of the stores that a coordinator closed.
public let NSRemovedPersistentStoresKey = "removed"
/// The user info key of the stores whose identifiers changed. Identifiers never change in this library.
public let NSUUIDChangedPersistentStoresKey = "changed"
/// The key of a store's identifier.
public let NSStoreUUIDKey = "NSStoreUUID"
/// The key of a store's type in its metadata.
public let NSStoreTypeKey = "NSStoreType"
/// The metadata key of the version hashes of the entities that a store was created with.
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
/// The user info key of a store's URL in remote change notifications.
public let NSPersistentStoreURLKey = "storeURL"
/// The user info key of the history token after the change.
public let NSPersistentHistoryTokenKey = "historyToken"

extension NSNotification.Name {
  /// Posted by a coordinator after it opened or closed stores.
  public static let NSPersistentStoreCoordinatorStoresDidChange = NSNotification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")
  /// Posted on Apple's systems before an account's stores are replaced. This library never posts it.
  public static let NSPersistentStoreCoordinatorStoresWillChange = NSNotification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")
  /// Posted on Apple's systems by the former iCloud support. This library never posts it.
  public static let NSPersistentStoreDidImportUbiquitousContentChanges = NSNotification.Name(
    "com.apple.coredata.ubiquity.importer.didfinishimport")
  /// Posted by a coordinator before it closes a store.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = NSNotification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
  /// Posted by a coordinator after a commit to a store whose description sets ``NSPersistentStoreRemoteChangeNotificationPostOptionKey``.
  ///
  /// Commits of the coordinator's own contexts, of other coordinators and of other processes are reported. The notification is posted on a
  /// separate thread, and may combine several commits of others.
  public static let NSPersistentStoreRemoteChange = NSNotification.Name("NSPersistentStoreRemoteChangeNotification")
}

/// Posts notifications of the commits to a coordinator's stores.
final class StoreChangeNotifications: Sendable {
  private struct State {
    var stores: Set<String> = []
    var tasks: [Task<Void, Never>] = []
  }
  private let state = Mutex(State())

  deinit {
    for task in state.withLock({ $0.tasks }) { task.cancel() }
  }

  /// Starts posting notifications of a store.
  func begin(_ store: PersistentStore, of coordinator: NSPersistentStoreCoordinator) {
    let isFirst = state.withLock { state in
      state.stores.insert(store.identifier)
      return state.tasks.isEmpty
    }
    if !isFirst { return }
    let (own, others) = (coordinator.coordinator.changes(), coordinator.coordinator.remoteChanges())
    let tasks = [
      Task.detached { [weak self, weak coordinator] in
        // Commits of other processes are also reported here, without an origin.
        for await changes in own where changes.origin != 0 {
          guard let self, let coordinator else { return }
          let url = coordinator.coordinator.persistentStores.first { $0.identifier == changes.storeIdentifier }?.url
          post(changes.storeIdentifier, url, changes.historyToken, coordinator)
        }
      },
      Task.detached { [weak self, weak coordinator] in
        for await change in others {
          guard let self, let coordinator else { return }
          post(change.storeIdentifier, change.url, change.historyToken, coordinator)
        }
      },
    ]
    state.withLock { $0.tasks += tasks }
  }

  private func post(_ store: String, _ url: URL?, _ token: PersistentHistoryToken?, _ coordinator: NSPersistentStoreCoordinator) {
    guard state.withLock({ $0.stores.contains(store) }) else { return }
    var info: [AnyHashable: Any] = [AnyHashable(NSStoreUUIDKey): store]
    if let url { info[AnyHashable(NSPersistentStoreURLKey)] = url }
    if let token { info[AnyHashable(NSPersistentHistoryTokenKey)] = NSPersistentHistoryToken(token) }
    NotificationCenter.default.post(name: .NSPersistentStoreRemoteChange, object: coordinator, userInfo: info)
  }
}
