public import Foundation

/// A change of an open store by another process, or by another coordinator of this process.
///
/// ```swift
/// for await change in container.persistentStoreCoordinator.remoteChanges() {
///   print("another process has written to", change.url?.path ?? change.storeIdentifier)
/// }
/// ```
///
/// A value may represent several commits. Fetches that start afterwards include all of them.
public struct RemoteStoreChange: Sendable {
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The location of the store, or nil for stores without a file.
  public let url: URL?
  /// Whether the changed objects are known.
  ///
  /// If true, ``PersistentStoreCoordinator/changes()`` has already reported them. If false, any object may have changed: the coordinator
  /// has cleared its row cache for the store, and objects in contexts keep their values until they are refreshed.
  public let areChangesKnown: Bool
  /// The position after the commits in the store's history, or nil if the store keeps no history or it cannot be read.
  public let historyToken: PersistentHistoryToken?

  func joined(with later: RemoteStoreChange) -> RemoteStoreChange {
    RemoteStoreChange(
      storeIdentifier: storeIdentifier, url: later.url, areChangesKnown: areChangesKnown && later.areChangesKnown,
      historyToken: later.historyToken ?? historyToken)
  }
}

extension Notification.Name {
  /// Posted after another process or coordinator has committed to an open store whose description has
  /// ``PersistentStoreDescription/postsRemoteChangeNotifications`` set.
  ///
  /// The notification is posted on a queue of the store. The object is the coordinator. The user info contains the store's UUID, URL, and
  /// history token under the keys of ``PersistentStoreCoordinator/NotificationKey``.
  public static let persistentStoreRemoteChange = Notification.Name("CipherData.PersistentStoreRemoteChange")
}

extension PersistentStoreCoordinator {
  /// The user info keys of the notification. The raw values are Core Data's.
  public enum NotificationKey: String, Sendable, Hashable, CaseIterable {
    /// The UUID of the store, a `String`.
    case storeUUID = "NSStoreUUID"
    /// The `URL` of the store.
    case storeURL = "storeURL"
    /// The position after the commits in the store's history, a ``PersistentHistoryToken``. Absent if the store keeps no history.
    case historyToken = "historyToken"
  }
}
