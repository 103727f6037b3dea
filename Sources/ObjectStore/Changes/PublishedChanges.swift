package import ObjectModel

/// Collects the changes of a batch request: for the change set that observers and the caller receive, for the row cache, and for a result
/// that lists objects.
///
/// There is one only if something needs it: an observer, the caller, or cached rows. It keeps at most ``maximumListedCount`` rows, so that
/// the memory of a request does not depend on the number of its rows. Beyond that, it keeps nothing: the change set states that any object
/// may have changed, and the whole row cache is cleared. Only a result that lists objects has no limit.
///
/// `@unchecked Sendable`: used only by the thread of the request, while the store's lock is held.
package final class PublishedChanges: ChangeConsumer, RequestConsumer, @unchecked Sendable {
  /// The kind of the requests.
  package enum Operation: Equatable {
    /// A batch insert.
    ///
    /// - Parameter merges: Whether stored rows can be updated too.
    case insertion(merges: Bool)
    /// A batch update.
    ///
    /// - Parameter setsRelationships: Whether to-one relationships are set.
    case update(setsRelationships: Bool)
    case deletion
    /// An import of rows and links from another store.
    case transfer

    package init(_ request: PersistentStoreRequest, in model: CompiledModel) {
      switch request {
      case .batchInsert(let insertion): self = .insertion(merges: insertion.onConflict.merges)
      case .batchUpdate(let request): self = .update(setsRelationships: request.setsRelationships(in: model))
      default: self = .deletion
      }
    }

    /// Whether an insertion can update stored rows.
    var mergesRows: Bool { self == .insertion(merges: true) }

    /// Whether rows can be updated or deleted that existed before.
    private var affectsStoredRows: Bool { self != .insertion(merges: false) && self != .transfer }

    /// Whether rows that are cached can change.
    func affectsCache(in model: CompiledModel) -> Bool { affectsStoredRows || !model.derivations.isEmpty }
  }

  /// The maximum number of rows that are listed. If there are more, reading everything again is faster than processing each change.
  package static let maximumListedCount = 100_000
  /// The maximum number of rows for which links are listed. For larger batches, listing would delay readers of relationships; checking the
  /// objects whose members have been read is cheaper.
  package static let maximumLinkedCount = 4_096

  package private(set) var needs: ChangeNeeds
  private let model: CompiledModel
  private let operation: Operation
  private let isPublished: Bool
  /// Whether the rows are also listed in ``results``, without a limit.
  private let listsResults: Bool
  /// Whether updates can change links. References to deleted objects are cleared, but their members are of no interest.
  private let updatesLinks: Bool
  private var changes: Changes
  /// The inserted, updated, and deleted rows, each once, and the rows with new derived values.
  private var results = BatchChanges()
  /// The keys of rows that were inserted or updated, by entity, if rows can be updated several times.
  private var seen: [Int: RowKeySet] = [:]
  /// The number of different rows that were updated and not inserted by the same request. Counted only for a merging insertion.
  package private(set) var updatedCount = 0

  /// The changes since the last ``takeChangeSet(of:scope:historyPosition:)``.
  private struct Changes {
    var objects: ChangeSetBuilder
    var linksAreListed = true
    var hasUpdates = false

    init(_ model: CompiledModel) { objects = ChangeSetBuilder(model) }
  }

  /// - Parameters:
  ///   - isPublished: Whether a change set will be taken.
  ///   - listsResults: Whether to list all rows for the caller of the request.
  package init(_ operation: Operation, of model: CompiledModel, isPublished: Bool, listsResults: Bool) {
    self.model = model
    self.operation = operation
    self.isPublished = isPublished
    self.listsResults = listsResults
    updatesLinks = isPublished && operation != .deletion && operation != .update(setsRelationships: false)
    changes = Changes(model)
    needs = Self.needs(operation, model, includesRows: isPublished)
  }

  private static func needs(_ operation: Operation, _ model: CompiledModel, includesRows: Bool) -> ChangeNeeds {
    let entities = model.entities.map { entity in
      var needs = ChangeNeeds.OfEntity()
      needs.isIncluded = true
      guard includesRows, entity.slots.contains(where: { $0.relationship.map { !$0.isTransient } ?? false }) else { return needs }
      switch operation {
      case .insertion, .update(setsRelationships: true): (needs.includesOldRow, needs.includesNewRow) = (true, true)
      case .transfer: needs.includesNewRow = true
      case .deletion: needs.includesDeletedDestinations = true
      case .update(setsRelationships: false): break
      }
      return needs
    }
    // Contexts determine the links of deleted objects in join tables themselves.
    return ChangeNeeds(entities: entities, relationships: model.relationships.map { _ in includesRows && operation == .transfer })
  }

  /// The number of rows that are kept for the change set and the row cache.
  package var keptCount: Int { changes.objects.count }

  // MARK: Receiving

  package func expect(_ count: Int) {
    if keptCount > Self.maximumListedCount - count {
      makeWhole()
    } else if keptCount > Self.maximumLinkedCount - count {
      stopListingLinks()
    }
  }

  package func receive(_ change: RowChange) {
    switch change {
    case .insert(let row): insert(row)
    case .update(let row): update(row)
    case .delete(let row): delete(row)
    case .links(let links): addLinks(links)
    case .order, .schema, .unspecified: break
    }
  }

  private func insert(_ row: ChangedRow) {
    if listsResults { results.inserted.append(row.reference) }
    if operation.mergesRows { seen[row.reference.entity, default: RowKeySet()].insert(row.reference.key) }
    guard isPublished, !changes.objects.isWhole else { return }
    if let new = row.new, changes.linksAreListed {
      changes.objects.links.add(new)
    } else {
      changes.objects.links.addUnlisted(of: row.reference.entity) { slot in row.new.map { !$0.isNull(slot) } ?? true }
    }
    add(.inserted, row.reference)
  }

  private func update(_ row: ChangedRow) {
    changes.hasUpdates = true
    if row.isDerived {
      if listsResults { results.refreshed.append(row.reference) }
      return add(.refreshed, row.reference, model.entities[row.reference.entity].derivedSlots)
    }
    if listsResults || operation.mergesRows,
      seen[row.reference.entity, default: RowKeySet()].insert(row.reference.key)
    {
      updatedCount += 1
      if listsResults { results.updated.append(row.reference) }
    }
    add(.updated, row.reference, row.slots)
    guard updatesLinks, !changes.objects.isWhole else { return }
    let isListed = changes.linksAreListed
    changes.objects.links.add(row.reference, row.slots, old: isListed ? row.old : nil, new: isListed ? row.new : nil)
  }

  private func delete(_ row: ChangedRow) {
    changes.hasUpdates = true
    if listsResults { results.deleted.append(row.reference) }
    if isPublished, !changes.objects.isWhole {
      if !changes.linksAreListed {
        changes.objects.links.addUnlistedLinks(toObjectsOf: row.reference.entity)
      } else if needs[row.reference.entity].includesDeletedDestinations {
        changes.objects.links.add(deleted: row.reference, row.old)
      }
    }
    add(.deleted, row.reference)
  }

  private func addLinks(_ links: ChangedLinks) {
    guard isPublished else { return }
    for object in [links.source] + links.addedMembers { add(.updated, object) }
    if changes.objects.isWhole { return }
    guard changes.linksAreListed else { return changes.objects.links.addUnlisted(links.relationship) }
    for member in links.addedMembers {
      changes.objects.links.add(LinkChanges.Link(source: links.source, destination: member), of: links.relationship.id, isAdded: true)
    }
  }

  private func add(_ change: ChangeSetBuilder.State, _ reference: ObjectReference, _ slots: SlotMask = SlotMask()) {
    if changes.objects.isWhole { return }
    changes.objects.add(change, reference, slots)
    if keptCount > Self.maximumListedCount {
      makeWhole()
    } else if keptCount > Self.maximumLinkedCount, changes.linksAreListed {
      stopListingLinks()
    }
  }

  /// Lists no links: only the relationships whose links have changed. For stores that do not report rows.
  func stopListingLinks() {
    guard isPublished, changes.linksAreListed, !changes.objects.isWhole else { return }
    changes.linksAreListed = false
    changes.objects.links.makeUnlisted()
    for entity in changes.objects.deletedEntities { changes.objects.links.addUnlistedLinks(toObjectsOf: entity) }
    needs = Self.needs(operation, model, includesRows: false)
  }

  private func makeWhole() {
    if changes.objects.isWhole { return }
    let hadUpdates = changes.hasUpdates
    changes = Changes(model)
    changes.objects.isWhole = true
    switch operation {
    case .insertion, .transfer: changes.hasUpdates = hadUpdates
    case .update, .deletion:
      changes.hasUpdates = true
      needs = listsResults ? Self.needs(operation, model, includesRows: false) : ChangeNeeds(nothingOf: model)
    }
  }

  // MARK: Results

  /// Removes the changed rows from a row cache.
  package func removeRows(from cache: RowCache) {
    if !changes.objects.isWhole {
      cache.remove(changes.objects.storedReferences)
    } else if changes.hasUpdates {
      cache.removeAll()
    }
  }

  /// Returns the change set of the changes since the last call.
  package func takeChangeSet(of store: PersistentStore, scope: RequestScope, historyPosition: HistoryPosition?) -> ChangeSet {
    defer {
      if changes.objects.isWhole || !changes.linksAreListed { needs = Self.needs(operation, model, includesRows: isPublished) }
      changes = Changes(model)
    }
    // Without publication, the insertions and links are unknown: an observer was added during the request.
    if changes.objects.isWhole || !isPublished { return ChangeSet(wholeOf: store, scope: scope, historyPosition: historyPosition) }
    return changes.objects.changeSet(
      ofStore: store.identifier, in: store.space, token: historyPosition.map { PersistentHistoryToken($0, of: store.identifier) },
      source: ObjectIdentifier(store), origin: scope.origin, author: scope.transactionAuthor, context: scope.contextName)
  }

  /// Discards the changes of a request that is repeated after a rollback. The same rows will be changed again.
  package func discardChanges() {
    changes = Changes(model)
    needs = Self.needs(operation, model, includesRows: isPublished)
    // Updated rows are listed when they are seen for the first time.
    (results.inserted, results.deleted, results.refreshed) = ([], [], [])
  }

  /// Returns the rows that the results list.
  package func takeResults() -> BatchChanges {
    defer { results = BatchChanges() }
    if results.refreshed.isEmpty { return results }
    var known = Set(results.inserted).union(results.updated).union(results.deleted)
    results.refreshed = results.refreshed.filter { known.insert($0).inserted }
    return results
  }
}

extension RequestScope {
  /// The consumers of the request's changes.
  package var publishedChanges: [PublishedChanges] { (consumers ?? []).compactMap { $0 as? PublishedChanges } }

  /// Runs a batch request of a store that reports its changes. A caller other than the coordinator receives lists of the rows.
  package func executingBatch(
    _ request: PersistentStoreRequest, of model: CompiledModel, _ body: (RequestScope) throws -> BatchChanges
  ) rethrows -> BatchChanges {
    if consumers != nil { return try body(self) }
    let listed = PublishedChanges(.init(request, in: model), of: model, isPublished: false, listsResults: true)
    var scope = self
    scope.consumers = [listed]
    let position = try body(scope).historyPosition
    var changes = listed.takeResults()
    changes.historyPosition = position
    return changes
  }
}

extension BatchConflictPolicy {
  /// Whether a row can update a stored one.
  var merges: Bool { self != .error && self != .ignore }
}

extension BatchUpdateRequest {
  /// Whether the request sets relationships.
  func setsRelationships(in model: CompiledModel) -> Bool {
    guard let entity = model.entity(named: entityName) else { return false }
    return propertiesToUpdate.keys.contains { if case .toOne = entity.property(named: $0) { true } else { false } }
  }
}

// MARK: - Publication

extension PersistentStore {
  /// Returns the consumer of a request's changes, or nil if nothing needs them.
  ///
  /// - Parameters:
  ///   - publishes: Whether the coordinator publishes the changes.
  ///   - merges: Whether the caller merges the changes into its objects.
  package func makeConsumer(
    _ operation: PublishedChanges.Operation, _ resultType: BatchResultType = .statusOnly, publishes: Bool, merges: Bool = false
  ) -> PublishedChanges? {
    let isPublished = merges || publishes && !observers.isEmpty
    let listsResults = resultType == .objectIDs
    let affectsCache = !cache.isEmpty && operation.affectsCache(in: model)
    guard isPublished || listsResults || affectsCache || operation.mergesRows else { return nil }
    return PublishedChanges(operation, of: model, isPublished: isPublished, listsResults: listsResults)
  }

  /// Removes the rows that a batch request has changed from the row cache, and publishes the change set.
  ///
  /// - Parameters:
  ///   - consumer: The consumer of the changes, or nil if nothing needed them when the request began.
  ///   - publishes: Whether the coordinator publishes the changes.
  ///   - merges: Whether the caller merges the changes into its objects.
  /// - Returns: The change set that the caller merges, or nil if it does not merge or nothing was changed.
  package func finishBatch(
    _ operation: PublishedChanges.Operation, _ consumer: PublishedChanges?, publishes: Bool, merges: Bool = false, scope: RequestScope,
    historyPosition: HistoryPosition? = nil
  ) -> ChangeSet? {
    if let consumer {
      consumer.removeRows(from: cache)
    } else if operation.affectsCache(in: model) {
      // The cache was empty, but other threads may have read rows since the request began.
      cache.removeAll()
    }
    var made = merges ? consumer?.takeChangeSet(of: self, scope: scope, historyPosition: historyPosition) : nil
    if publishes {
      publish {
        let changeSet =
          made
          ?? consumer.map { $0.takeChangeSet(of: self, scope: scope, historyPosition: historyPosition) }
          ?? ChangeSet(wholeOf: self, scope: scope, historyPosition: historyPosition)
        made = changeSet
        return changeSet
      }
    }
    return merges ? made.flatMap { $0.isEmpty ? nil : $0 } : nil
  }
}
