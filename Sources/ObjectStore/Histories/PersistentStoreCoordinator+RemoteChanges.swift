// PersistentStoreCoordinator+RemoteChanges: what others commit to the open stores reaches the row caches, and whoever wants to know.
import Foundation
import ObjectModel
import Synchronization

extension PersistentStoreCoordinator {
  /// What others commit from now on to the stores that are opened with ``PersistentStoreDescription/postsRemoteChangeNotifications``: other processes, and
  /// other coordinators of this one; never what is written through this coordinator. Several commits may be one change, and none is lost for good.
  ///
  /// A change may also be of a commit that has changed no object: keys for new objects are reserved, some thousands at once, before the first of them is saved, so
  /// a process that inserts objects of an entity for the first time is heard twice. The second change is not held back: a commit without objects may be one of the
  /// store's metadata as well. With a history the token tells them apart: it stays where nothing was recorded.
  ///
  /// A change comes when the rows that the coordinator kept of the store are forgotten: who fetches then sees the commits. Who is slow gets one change for
  /// each store. The stream ends with the coordinator.
  public func remoteChanges() -> AsyncStream<RemoteStoreChange> { remoteListeners.stream() }

  /// Begins to hear what others commit to a store that was just opened.
  func observeRemoteCommits(to store: PersistentStore) throws {
    store.noteHistory()
    try store.incrementalStore.observeRemoteCommits { [weak self, weak store] in
      guard let self, let store else { return }
      let change = store.takeRemoteCommits()
      remoteListeners.tell(change)
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
  /// So many objects are told one by one; more are told as a whole, since to look at each would take longer than to read all anew.
  private static let greatestToldCount = 100_000

  /// Takes over that others have committed: what they have written is told, where the store keeps a history. Otherwise nothing is known of it, and all rows are
  /// forgotten.
  func takeRemoteCommits() -> RemoteStoreChange {
    // A save under way may still put its rows into the cache, and somebody may have changed them since it was committed.
    saving.lock()
    defer { saving.unlock() }
    // A history that cannot be read, or was shortened past what was told, says as little as none.
    let changes = (try? changesOfOthers()) ?? nil
    let isKnown = changes.map { !$0.isWhole } ?? false
    if let changes, isKnown {
      cache.remove(changes.references)
      if !changes.isEmpty { listeners.tell(changes) }
    } else {
      cache.removeAll()
      if changes != nil, !listeners.isEmpty { listeners.tell(ChangeSet(wholeOf: self)) }
    }
    return RemoteStoreChange(storeIdentifier: identifier, url: url, isExtentKnown: isKnown, historyToken: changes?.historyToken)
  }

  /// Notes the newest transaction of the history, as soon as the store is open: what comes behind it is told.
  func noteHistory() {
    let position = (try? (incrementalStore as? any HistoryStore)?.historyExtent()?.newest) ?? nil
    toldPosition.withLock { $0 = position }
  }

  /// What others have written behind what was told last; nil where the store keeps no history, or kept none then.
  private func changesOfOthers() throws -> ChangeSet? {
    guard let history = incrementalStore as? any HistoryStore, let newest = try history.historyExtent()?.newest else {
      toldPosition.withLock { $0 = nil }
      return nil
    }
    let told = toldPosition.withLock { position in
      defer { position = newest }
      return position
    }
    guard let told else { return nil }
    let open = try openHistory(.readHistory)
    var query = HistoryQuery()
    query.after = try open.number(at: told)
    query.upTo = newest.number
    var reader = open.reader(query)
    var set = HistoryChangeSet(ofStore: identifier)
    var count = 0
    let own = try history.historyOpening()
    while let piece = try reader.next() {
      var transaction = piece.transaction
      if transaction.opening == own, own != nil {
        set.pass(transaction)
        continue
      }
      count += piece.changes.count
      transaction.changes = piece.changes
      if count > Self.greatestToldCount {
        set.addUnlisted(transaction)
        break
      }
      set.add(transaction)
    }
    return set.changeSet(source: self)
  }
}
