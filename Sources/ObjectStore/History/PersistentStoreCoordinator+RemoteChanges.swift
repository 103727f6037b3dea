import Foundation
import ObjectModel
import Synchronization

extension PersistentStoreCoordinator {
  /// Returns an asynchronous sequence of commits by other processes, and by other coordinators of this process, to the stores that were
  /// opened with ``PersistentStoreDescription/postsRemoteChangeNotifications``. Commits through this coordinator are not included.
  ///
  /// Several commits may be combined into one change. A slow consumer receives at most one pending change a store. A change is delivered
  /// after the affected rows were removed from the row cache, so fetches that start afterwards see the commits. The sequence ends when the
  /// coordinator is deallocated.
  ///
  /// A change may be for a commit that changed no objects. For example, a process that inserts objects of an entity for the first time
  /// commits twice, because keys are reserved in blocks of thousands before the first save. Such changes are still delivered, because a
  /// commit without objects may have changed the store's metadata. If the store keeps a history, the history token is unchanged if nothing
  /// was recorded.
  public func remoteChanges() -> AsyncStream<RemoteStoreChange> { remoteObservers.stream() }

  /// Starts observing commits by others to a store that was just opened.
  func observeRemoteCommits(to store: PersistentStore) throws {
    store.recordHistoryPosition()
    try store.incrementalStore.observeRemoteCommits { [weak self, weak store] in
      guard let self, let store else { return }
      let change = store.processRemoteCommits()
      remoteObservers.notify(change)
      post(change)
    }
  }

  private func post(_ change: RemoteStoreChange) {
    var info: [AnyHashable: Any] = [AnyHashable(NotificationKey.storeUUID.rawValue): change.storeIdentifier]
    if let url = change.url { info[AnyHashable(NotificationKey.storeURL.rawValue)] = url }
    if let token = change.historyToken { info[AnyHashable(NotificationKey.historyToken.rawValue)] = token }
    NotificationCenter.default.post(name: .persistentStoreRemoteChange, object: self, userInfo: info)
  }
}

extension PersistentStore {
  /// Processes commits by others. If the store keeps a history, observers are notified of the changes and the changed rows are removed from
  /// the row cache. Otherwise the whole row cache is cleared.
  func processRemoteCommits() -> RemoteStoreChange {
    // Otherwise a running save could enter rows into the cache that others have changed after its commit.
    saving.lock()
    defer { saving.unlock() }
    // A history that cannot be read, or was purged beyond the last known transaction, is treated as missing.
    let changes = (try? unreportedRemoteChanges()) ?? nil
    let isKnown = changes.map { !$0.isWhole } ?? false
    if let changes, isKnown {
      cache.remove(changes)
      if !changes.isEmpty { observers.notify(changes) }
    } else {
      cache.removeAll()
      if changes != nil { observers.notify(ChangeSet(wholeOf: self)) }
    }
    return RemoteStoreChange(storeIdentifier: identifier, url: url, areChangesKnown: isKnown, historyToken: changes?.historyToken)
  }

  /// Records the newest transaction when the store is opened. Later transactions by others are reported.
  func recordHistoryPosition() {
    let position = (try? (incrementalStore as? any HistoryStore)?.historyBounds()?.newest) ?? nil
    lastReportedPosition.withLock { $0 = position }
  }

  /// Returns the changes by others since the last call, or nil if the store keeps no history or kept none at the last call.
  private func unreportedRemoteChanges() throws -> ChangeSet? {
    guard let history = incrementalStore as? any HistoryStore, let newest = try history.historyBounds()?.newest else {
      lastReportedPosition.withLock { $0 = nil }
      return nil
    }
    let reported = lastReportedPosition.withLock { position in
      defer { position = newest }
      return position
    }
    guard let reported else { return nil }
    let open = try openHistory(.readHistory)
    var query = HistoryQuery()
    query.after = try open.number(at: reported)
    query.upTo = newest.number
    var reader = open.reader(query)
    var set = HistoryChangeSet(ofStore: identifier, in: space)
    var count = 0
    let own = try history.historyOpening()
    while let fragment = try reader.next() {
      var transaction = fragment.transaction
      if transaction.opening == own, own != nil {
        set.pass(transaction)
        continue
      }
      count += fragment.changes.count
      transaction.changes = fragment.changes
      if count > PublishedChanges.maximumListedCount {
        set.addUnlisted(transaction)
        break
      }
      set.add(transaction)
    }
    return set.changeSet(source: self)
  }
}
