// RemoteStoreChange: what others have committed to an open store, as a value and as a notification.
public import Foundation

/// Others have committed to an open store: another process, or another coordinator of this one.
///
/// ```swift
/// for await change in container.persistentStoreCoordinator.remoteChanges() {
///   print("somebody has written to", change.url?.path ?? change.storeIdentifier)
/// }
/// ```
///
/// One may stand for several commits. Who fetches after it sees them all.
public struct RemoteStoreChange: Sendable {
  /// The store's UUID.
  public let storeIdentifier: String
  /// Where the store is; nil for stores without a file.
  public let url: URL?
  /// Whether it is known what was changed: then the coordinator's ``PersistentStoreCoordinator/changes()`` has told it before. Otherwise anything may have
  /// been: the coordinator has forgotten the rows that it kept of the store, and objects of contexts are as they were until they are refreshed.
  public let isExtentKnown: Bool
  /// The place behind the commits in the store's history; nil where the store keeps none, or it cannot be read.
  public let historyToken: PersistentHistoryToken?

  /// What became of this and a later one that nobody has taken in between.
  func joined(with later: RemoteStoreChange) -> RemoteStoreChange {
    RemoteStoreChange(
      storeIdentifier: storeIdentifier, url: later.url, isExtentKnown: isExtentKnown && later.isExtentKnown,
      historyToken: later.historyToken ?? historyToken)
  }
}

extension Notification.Name {
  /// Posted after others have committed to an open store whose description has ``PersistentStoreDescription/postsRemoteChangeNotifications``, on a queue of
  /// the store's own. The object is the coordinator; the user info has the store's UUID, URL and history token under the keys of
  /// ``PersistentStoreCoordinator/NotificationKey``.
  public static let persistentStoreRemoteChange = Notification.Name("CipherData.PersistentStoreRemoteChange")
}

extension PersistentStoreCoordinator {
  /// The keys of the notification's user info, with Core Data's values.
  public enum NotificationKey: String, Sendable, Hashable, CaseIterable {
    /// The store's UUID, a `String`.
    case storeUUID = "NSStoreUUID"
    /// The store's `URL`.
    case storeURL = "storeURL"
    /// The place behind the commits in the store's history, a ``PersistentHistoryToken``; absent where the store keeps none.
    case historyToken = "historyToken"
  }
}
