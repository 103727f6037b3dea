// CoordinatorNotifications: Core Data's notifications of coordinators: stores that come and go, and what is written to them.
public import Foundation
import ObjectContext
import ObjectStore
import Synchronization

/// The key of the stores that a coordinator has opened.
public let NSAddedPersistentStoresKey = "added"
/// The key of the stores that a coordinator has closed.
public let NSRemovedPersistentStoresKey = "removed"
/// The key of the stores whose identifiers were changed; nothing here changes one.
public let NSUUIDChangedPersistentStoresKey = "changed"
/// The key of a store's identifier.
public let NSStoreUUIDKey = "NSStoreUUID"
/// The key of a store's type in its metadata.
public let NSStoreTypeKey = "NSStoreType"
/// The key of the hashes of the entities that a store was made with, in its metadata.
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
/// The key of a store's URL in a notification of what was written to it.
public let NSPersistentStoreURLKey = "storeURL"
/// The key of the place in the histories behind what was written.
public let NSPersistentHistoryTokenKey = "historyToken"

extension NSNotification.Name {
  /// Posted by a coordinator after it has opened or closed stores.
  public static let NSPersistentStoreCoordinatorStoresDidChange = NSNotification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")
  /// Posted on Apple's systems before an account's stores are exchanged; nothing here posts it.
  public static let NSPersistentStoreCoordinatorStoresWillChange = NSNotification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")
  /// Posted on Apple's systems by an older kind of cloud; nothing here posts it.
  public static let NSPersistentStoreDidImportUbiquitousContentChanges = NSNotification.Name(
    "com.apple.coredata.ubiquity.importer.didfinishimport")
  /// Posted by a coordinator before it closes a store.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = NSNotification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
  /// Posted by a coordinator after something was written to a store whose description has ``NSPersistentStoreRemoteChangeNotificationPostOptionKey``: by its own contexts, by other coordinators and
  /// by other processes. It is posted on a thread of its own, and may stand for several commits of others.
  public static let NSPersistentStoreRemoteChange = NSNotification.Name("NSPersistentStoreRemoteChangeNotification")
}

/// What is written to the stores of a coordinator, as notifications.
final class StoreChangeNotifications: Sendable {
  private struct State {
    var stores: Set<String> = []
    var tasks: [Task<Void, Never>] = []
  }
  private let state = Mutex(State())

  deinit {
    for task in state.withLock({ $0.tasks }) { task.cancel() }
  }

  /// Posts from now on what is written to a store.
  func begin(_ store: PersistentStore, of coordinator: NSPersistentStoreCoordinator) {
    let isFirst = state.withLock { state in
      state.stores.insert(store.identifier)
      return state.tasks.isEmpty
    }
    if !isFirst { return }
    let (own, others) = (coordinator.coordinator.changes(), coordinator.coordinator.remoteChanges())
    let tasks = [
      Task.detached { [weak self, weak coordinator] in
        // What others have written is told too, as nobody's.
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
