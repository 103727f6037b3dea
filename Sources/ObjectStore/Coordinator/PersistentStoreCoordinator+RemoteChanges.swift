// PersistentStoreCoordinator+RemoteChanges: what others commit to the open stores reaches the row caches, and whoever wants to know.
import Foundation

extension PersistentStoreCoordinator {
  /// What others commit from now on to the stores that are opened with ``PersistentStoreDescription/postsRemoteChangeNotifications``: other processes, and
  /// other coordinators of this one; never what is written through this coordinator. Several commits may be one change, and none is lost for good.
  ///
  /// A change comes when the rows that the coordinator kept of the store are forgotten: who fetches then sees the commits. Who is slow gets one change for
  /// each store. The stream ends with the coordinator.
  public func remoteChanges() -> AsyncStream<RemoteStoreChange> { remoteListeners.stream() }

  /// Begins to hear what others commit to a store that was just opened.
  func observeRemoteCommits(to store: PersistentStore) throws {
    try store.incrementalStore.observeRemoteCommits { [weak self, weak store] in
      guard let self, let store else { return }
      let change = store.takeRemoteCommits()
      remoteListeners.tell(change)
      post(change)
    }
  }

  private func post(_ change: RemoteStoreChange) {
    let (uuid, url) = (NotificationKey.storeUUID.rawValue, NotificationKey.storeURL.rawValue)
    let (center, name) = (NotificationCenter.default, Notification.Name.persistentStoreRemoteChange)
    if let place = change.url {
      center.post(name: name, object: self, userInfo: [uuid: change.storeIdentifier, url: place])
    } else {
      center.post(name: name, object: self, userInfo: [uuid: change.storeIdentifier])
    }
  }
}

extension PersistentStore {
  /// Takes over that others have committed.
  ///
  /// Here nothing is known of what they have written, and so all rows are forgotten. Where the store has a history, this is the place that reads the transactions
  /// of others since the last one that was told, gives them to the row cache and to `listeners` as change sets, and says that the extent is known.
  func takeRemoteCommits() -> RemoteStoreChange {
    // A save under way may still put its rows into the cache, and somebody may have changed them since it was committed.
    saving.lock()
    defer { saving.unlock() }
    cache.removeAll()
    return RemoteStoreChange(storeIdentifier: identifier, url: url, isExtentKnown: false)
  }
}
