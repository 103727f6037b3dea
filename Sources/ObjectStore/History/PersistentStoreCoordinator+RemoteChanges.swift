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
      if changes != nil, !observers.isEmpty { observers.notify(ChangeSet(wholeOf: self)) }
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
    var set = HistoryChangeSet(ofStore: identifier)
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

/// Combines the changes of history transactions of one store into a change set that lists each object once.
///
/// An object that was inserted and deleted is listed as deleted; one that was inserted and updated, as inserted. An object that was deleted
/// and inserted again with the same ID is listed as updated, with unknown changes.
package struct HistoryChangeSet {
  private enum State { case inserted, updated, restored, refreshed, deleted, insertedAndDeleted }

  private let store: String
  /// Created with the first transaction, which determines the model.
  private var links: LinkCollector?
  private var model: CompiledModel?
  private var order: [ManagedObjectID] = []
  private var states: [ManagedObjectID: State] = [:]
  private var slots: [ManagedObjectID: SlotMask] = [:]
  private var isWhole = false
  private var listsRemovedLinks = true
  private var filled: [Int: SlotMask] = [:]
  private var token: PersistentHistoryToken?
  /// The authors and contexts of the transactions. The change set names them only if all transactions have the same.
  private var authors: Set<String?> = []
  private var contexts: Set<String?> = []

  package init(ofStore identifier: String) { store = identifier }

  /// Adds a transaction, or a part of one.
  package mutating func add(_ transaction: PersistentHistoryTransaction) {
    token = transaction.token
    authors.insert(transaction.author)
    contexts.insert(transaction.contextName)
    if links == nil, let model = ObjectIDSpace.space(transaction.space)?.model { (self.model, links) = (model, LinkCollector(model)) }
    if transaction.isWhole { isWhole = true }
    for change in transaction.schemaChanges where change.kind.changesObjects { add(change) }
    for change in transaction.changes ?? [] { add(change) }
  }

  mutating func pass(_ transaction: PersistentHistoryTransaction) { token = transaction.token }

  /// Adds a transaction with too many changes to list.
  mutating func addUnlisted(_ transaction: PersistentHistoryTransaction) {
    token = transaction.token
    isWhole = true
  }

  /// Returns the combined changes.
  ///
  /// - Parameter source: The open store whose row cache already includes them.
  package func changeSet(source: PersistentStore? = nil) -> ChangeSet {
    func ids(_ matching: State, _ other: State? = nil) -> [ManagedObjectID] {
      order.filter { states[$0] == matching || states[$0] == other }
    }
    let updated = ids(.updated, .restored)
    var changed = ChangedSlots()
    for id in updated { changed.append(states[id] == .restored ? nil : slots[id]) }
    return ChangeSet(
      ofStore: store, inserted: ids(.inserted), updated: updated, updatedSlots: changed, deleted: ids(.deleted, .insertedAndDeleted),
      refreshed: ids(.refreshed),
      filled: filled.sorted { $0.key < $1.key }.map { FilledSlots(entity: $0.key, slots: $0.value) },
      links: links, listsRemovedLinks: listsRemovedLinks, isWhole: isWhole, token: token, source: source.map { ObjectIdentifier($0) },
      author: authors.count == 1 ? authors.first ?? nil : nil,
      context: contexts.count == 1 ? contexts.first ?? nil : nil)
  }

  // MARK: Changes

  /// Adds a change of all objects of an entity. What the current model no longer has is not visible to contexts.
  private mutating func add(_ change: PersistentHistoryTransaction.SchemaChange) {
    guard let model, let entity = model.entity(named: change.entityName), let name = change.propertyName else { return }
    switch entity.property(named: name) {
    case .attribute(let slot): filled[entity.number, default: SlotMask()].insert(slot.index)
    case .toOne(let relationship):
      filled[entity.number, default: SlotMask()].insert(relationship.index)
      links?.addUnlisted(relationship)
    case .toMany(let relationship): links?.addUnlisted(relationship)
    case .composite, .fetched: isWhole = true
    // The members of a relationship can be identified by the ID of a removed one.
    case nil: if change.kind == .rewritten { isWhole = true }
    }
  }

  private mutating func add(_ change: PersistentHistoryChange) {
    let id = change.changedObjectID
    guard let model else { return }
    let entity = model.entities[Int(id.entityNumber)]
    let previous = states[id]
    if previous == nil { order.append(id) }
    switch change.changeType {
    case .insert:
      if previous == .deleted {
        states[id] = .restored
        // Existing objects in contexts have the members from before the deletion.
        for relationship in entity.relationships where relationship.isToMany && !relationship.isTransient {
          links?.addOrder(of: RelationshipOwner(object: id.reference, relationshipID: relationship.id))
        }
      } else {
        states[id] = .inserted
      }
      addLinks(of: change, entity, entity.slots.compactMap(\.relationship))
    case .delete:
      states[id] = previous == .inserted || previous == .insertedAndDeleted ? .insertedAndDeleted : .deleted
      addLinks(of: change, entity, entity.slots.compactMap(\.relationship))
      if !change.listsRemovedLinks {
        links?.addUnlistedLinks(toObjectsOf: entity.number)
        listsRemovedLinks = false
      }
    case .update:
      var mask = SlotMask()
      var toOnes: [CompiledRelationship] = []
      for name in change.updatedProperties {
        switch entity.property(named: name) {
        case .attribute(let slot): mask.insert(slot.index)
        case .toOne(let relationship):
          mask.insert(relationship.index)
          toOnes.append(relationship)
        case .toMany, .composite, .fetched, nil: break
        }
      }
      let isDerivedOnly = !change.updatedProperties.isEmpty && change.updatedProperties == change.derivedProperties
      if previous == nil || previous == .refreshed { states[id] = isDerivedOnly ? .refreshed : .updated }
      slots[id, default: SlotMask()].formUnion(mask)
      addLinks(of: change, entity, toOnes)
    }
  }

  /// Adds the links that a change has added and removed. Links of to-one relationships are listed only if the values were recorded.
  private mutating func addLinks(of change: PersistentHistoryChange, _ entity: CompiledEntity, _ toOnes: [CompiledRelationship]) {
    let source = change.changedObjectID.reference
    for relationship in toOnes where !relationship.isTransient {
      let (old, new) = (change.oldValues?.values[relationship.name], change.newValues?.values[relationship.name])
      // In inserted and deleted objects, a missing value is null.
      let isKnown = change.oldValues != nil || change.newValues != nil
      guard isKnown else {
        links?.addUnlisted(relationship)
        continue
      }
      for (value, isAdded) in [(old, false), (new, true)] {
        guard case .object(let id?)? = value else { continue }
        links?.add(LinkChanges.Link(source: source, destination: id.reference), of: relationship.id, isAdded: isAdded)
      }
    }
    for link in change.links {
      guard case .toMany(let relationship)? = entity.property(named: link.relationship) else { continue }
      links?.add(
        LinkChanges.Link(source: source, destination: link.destination.reference), of: relationship.id, isAdded: link.isAdded)
    }
    for name in change.orders.keys {
      guard case .toMany(let relationship)? = entity.property(named: name) else { continue }
      links?.addOrder(of: RelationshipOwner(object: source, relationshipID: relationship.id))
    }
  }
}

extension PersistentHistoryTransaction.SchemaChange.Kind {
  /// Whether objects that remain have other values.
  fileprivate var changesObjects: Bool { self != .objectsRemoved && self != .propertyRemoved }
}

extension PersistentHistoryTransaction {
  /// The changes of the transaction, for ``ManagedObjectContext/mergeChanges(from:)-(ChangeSet)``. Lists nothing if ``changes`` is nil.
  public var changeSet: ChangeSet {
    var set = HistoryChangeSet(ofStore: storeIdentifier)
    set.add(self)
    return set.changeSet()
  }
}

extension PersistentStoreCoordinator {
  /// Returns the changes after a token, as a change set for each store, and the token after them.
  package func changeSets(
    afterHistory token: PersistentHistoryToken?, cancellation: RequestCancellation? = nil
  ) throws -> (changes: [ChangeSet], token: PersistentHistoryToken?) {
    var (sets, last): ([ChangeSet], PersistentHistoryToken?) = ([], token)
    for history in try histories(affectedStores: nil, token: token, .readHistory) {
      try cancellation?.check(.readHistory)
      var query = HistoryQuery()
      query.after = try history.number(after: token)
      var reader = history.reader(query)
      var set = HistoryChangeSet(ofStore: history.store.identifier)
      while let fragment = try reader.next() {
        try cancellation?.check(.readHistory)
        var transaction = fragment.transaction
        transaction.changes = fragment.changes
        set.add(transaction)
        last = last?.merging(transaction.token) ?? transaction.token
      }
      sets.append(set.changeSet())
    }
    return (sets, last)
  }
}
