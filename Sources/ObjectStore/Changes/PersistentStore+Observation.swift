import Foundation
import ObjectModel
import Synchronization

// Reports the changes of stores that do not report them themselves: those of applications.

extension PersistentStore {
  /// Executes a save. If the store has no transactions, the observers see the changes before the store writes them, so that they can still
  /// reject the save, and no derived attributes.
  func executeObserved(_ request: SaveChangesRequest, in scope: RequestScope) throws -> SaveOutcome {
    func execute() throws -> SaveOutcome {
      guard case .saved(let outcome) = try incrementalStore.execute(.save(request), in: scope) else {
        throw StoreError(.resultTypeMismatch, operation: .save)
      }
      return outcome
    }
    func executeAndReport(to observation: TransactionObservation) throws -> SaveOutcome {
      try report(request, to: observation, scope)
      let outcome = try execute()
      try report(outcome, of: request, to: observation)
      return outcome
    }
    if let observation = uncommitted.withLock({ $0.observation }) {
      return try undoingChanges(of: observation) { try executeAndReport(to: observation) }
    }
    guard let observation = reportedObservers?.begin(storeIdentifier: identifier, model: model) else { return try execute() }
    return try completing(observation) {
      var outcome = SaveOutcome()
      let isTransacted = try inTransaction {
        outcome = try executeAndReport(to: observation)
        try observation.willCommit()
      }
      if isTransacted { return outcome }
      try report(request, to: observation, scope)
      try observation.willCommit()
      return try execute()
    }
  }

  /// Executes a batch request. The consumers in the scope receive its changes. If the store does not report its changes itself, the
  /// consumers and the observers see the changes after the store has written them, in its transaction.
  func executeObserved(batch request: PersistentStoreRequest, in scope: RequestScope) throws -> BatchChanges {
    try reportedObservers?.checkNotCalling(.batchRequest)
    func execute(_ scope: RequestScope) throws -> BatchChanges {
      guard case .batch(let changes) = try incrementalStore.execute(request, in: scope) else {
        throw StoreError(.resultTypeMismatch, operation: .batchRequest)
      }
      return changes
    }
    guard let reportedObservers else { return try execute(scope) }
    func executeAndReport(to observation: TransactionObservation?) throws -> BatchChanges {
      var listing = scope
      listing.consumers = nil
      let changes = try execute(listing)
      try report(changes, of: request, to: observation, scope)
      return changes
    }
    if let observation = uncommitted.withLock({ $0.observation }) {
      return try undoingChanges(of: observation) { try executeAndReport(to: observation) }
    }
    guard let observation = reportedObservers.begin(storeIdentifier: identifier, model: model) else {
      return try executeAndReport(to: nil)
    }
    return try completing(observation) {
      var changes = BatchChanges()
      let isTransacted = try inTransaction {
        changes = try executeAndReport(to: observation)
        try observation.willCommit()
      }
      guard isTransacted else { throw StoreError(.unobservableBatch, operation: .batchRequest, path: url?.path) }
      return changes
    }
  }

  /// Runs `body` as a transaction, or returns false if the store has no transactions.
  private func inTransaction(_ body: () throws -> Void) throws -> Bool {
    var hasBegun = false
    do {
      try incrementalStore.performTransaction {
        hasBegun = true
        try body()
      }
      return true
    } catch let error as StoreError where !hasBegun && error.code == .invalidRequest {
      return false
    }
  }

  /// Runs several requests as one transaction.
  func observingTransaction(_ body: () throws -> Void) throws {
    if let observation = uncommitted.withLock({ $0.observation }) {
      return try undoingChanges(of: observation) { try incrementalStore.performTransaction(body) }
    }
    guard let observation = reportedObservers?.begin(storeIdentifier: identifier, model: model) else {
      return try incrementalStore.performTransaction(body)
    }
    uncommitted.withLock { $0.observation = observation }
    defer { uncommitted.withLock { $0.observation = nil } }
    try completing(observation) {
      try incrementalStore.performTransaction {
        try body()
        try observation.willCommit()
      }
    }
  }

  /// Asks the observers of the running transaction whether it can be committed. Does nothing if it is nested in another one.
  func askObserversOfTransaction() throws {
    if uncommitted.withLock({ $0.depth }) != 1 { return }
    if let store = incrementalStore as? any ChangeReportingStore { return try store.askObserversOfTransaction() }
    try uncommitted.withLock { $0.observation }?.willCommit()
  }

  private func completing<Result>(_ observation: TransactionObservation, _ body: () throws -> Result) throws -> Result {
    do {
      let result = try body()
      observation.didCommit()
      return result
    } catch {
      observation.didRollBack()
      throw error
    }
  }

  private func undoingChanges<Result>(of observation: TransactionObservation, _ body: () throws -> Result) throws -> Result {
    let mark = observation.mark()
    do { return try body() } catch {
      observation.undo(to: mark)
      throw error
    }
  }

  // MARK: Reporting

  private func report(_ request: SaveChangesRequest, to observation: TransactionObservation, _ scope: RequestScope) throws {
    observation.begin(scope.origin(of: .save))
    guard let changes = ChangeStream.begin([observation], in: space) else { return }
    let needed =
      request.deleted.filter { changes.needs[$0.reference.entity].includesDeletedRow }.map(\.reference)
      + request.updated.filter(changes.needsOldRow).map(\.row.reference)
    let rows = needed.isEmpty ? RowList() : try incrementalStore.newValuesForObjects(with: needed.map(space.objectID), in: scope)
    let removed = try removedLinks(of: request, for: changes, scope)
    var request = request
    for (position, change) in request.relationshipChanges.enumerated() where change.order != nil {
      let members = Array(try members(of: model.relationships[change.relationshipID], [change.source], scope)[0])
      request.relationshipChanges[position] = change.merged(with: members)
    }
    let applied = try applied(request, removed, for: changes, scope)
    try changes.save(
      request, oldRows: Dictionary(rows.lazy.map { ($0.reference, $0) }) { $1 }, removedLinks: removed, applied: applied)
  }

  /// Returns what the relationship changes of a save will change, by the members that are stored before.
  private func applied(
    _ request: SaveChangesRequest, _ removedLinks: RemovedLinks?, for changes: ChangeStream, _ scope: RequestScope
  ) throws -> AppliedRelationships {
    struct Link: Hashable {
      let relationship: Int
      let ends: Set<ObjectReference>
    }
    var applied = AppliedRelationships()
    // A link of a relationship that is its own inverse can be changed from both ends.
    var (added, removed): (Set<Link>, Set<Link>) = ([], [])
    let deleted = removedLinks?.deleted ?? []
    for (position, change) in request.relationshipChanges.enumerated() where changes.needs.relationships[change.relationshipID] {
      let relationship = model.relationships[change.relationshipID]
      let stored = deleted.contains(change.source) ? [] : Array(try members(of: relationship, [change.source], scope)[0])
      let inverse = model.inverse(of: relationship)
      if inverse?.isToMany ?? true {
        let known = Set(stored)
        func isFirst(_ member: ObjectReference, _ changed: inout Set<Link>) -> Bool {
          !relationship.isItsOwnInverse || changed.insert(Link(relationship: relationship.id, ends: [change.source, member])).inserted
        }
        for member in change.removed where removedLinks?.contains(member, removedBy: change) != true {
          if !known.contains(member) || deleted.contains(member) || !isFirst(member, &removed) {
            applied.omitRemoval(of: member, at: position)
          }
        }
        for member in change.added where known.contains(member) || !isFirst(member, &added) {
          applied.omitAddition(of: member, at: position)
        }
      }
      if let order = change.order, !deleted.contains(change.source) {
        applied.setOrder(order, OrderChange(from: stored, to: order), at: position)
      }
    }
    return applied
  }

  /// Reports the rows with new derived values. The former values of objects that the save itself did not change are known only if their rows
  /// were cached.
  private func report(_ outcome: SaveOutcome, of request: SaveChangesRequest, to observation: TransactionObservation) throws {
    guard !outcome.isEmpty, let changes = ChangeStream.begin([observation], in: space) else { return }
    var written: [ObjectReference: RowImage] = [:]
    for row in request.inserted { written[row.reference] = row }
    for update in request.updated { written[update.row.reference] = update.row }
    for row in outcome.refreshed {
      let entity = model.entities[row.entityNumber]
      guard let old = written[row.reference] ?? cache.row(row.reference).flatMap({ $0.version == row.version ? $0 : nil }) else {
        try changes.update(row.reference, entity.derivedSlots, old: nil, new: row, isDerived: true)
        continue
      }
      let slots = row.derivedSlots(differingFrom: old, of: entity)
      if !slots.isEmpty { try changes.update(row.reference, slots, old: old, new: row, isDerived: true) }
    }
    for reference in outcome.outdated {
      try changes.update(reference, model.entities[reference.entity].derivedSlots, old: nil, new: nil, isDerived: true)
    }
  }

  private func members(
    of relationship: CompiledRelationship, _ objects: [ObjectReference], _ scope: RequestScope
  ) throws -> RelationshipValues {
    let values = try incrementalStore.newValues(
      forRelationship: relationship, forObjectsWith: objects.map(space.objectID), in: scope)
    guard values.ends.count == objects.count else { throw StoreError(.resultTypeMismatch, operation: .read) }
    return values
  }

  /// Returns the links of deleted objects. Links to a deleted object in a relationship without an inverse are not known.
  private func removedLinks(of request: SaveChangesRequest, for changes: ChangeStream, _ scope: RequestScope) throws -> RemovedLinks? {
    if request.deleted.isEmpty { return nil }
    var removed = RemovedLinks(changes, of: request)
    for (entity, deleted) in Dictionary(grouping: request.deleted.map(\.reference), by: \.entity).sorted(by: { $0.key < $1.key }) {
      for relationship in model.entities[entity].toManyRelationships where !relationship.isTransient && changes.needsLinks(of: relationship)
      {
        guard model.inverse(of: relationship)?.isToMany ?? true else { continue }
        let members = try members(of: relationship, deleted, scope)
        for (position, object) in deleted.enumerated() {
          for member in members[position] { removed.add(relationship, of: object, member, isReversed: false) }
        }
      }
    }
    return removed
  }

  /// Reports what a batch request has changed. If the store executed it as a save, the changes are those of the save, except for the links
  /// of deleted objects. Otherwise former values are not known.
  private func report(
    _ batch: BatchChanges, of request: PersistentStoreRequest, to observation: TransactionObservation?, _ scope: RequestScope
  ) throws {
    observation?.begin(scope.origin(of: .batch))
    let published = scope.publishedChanges
    let consumers: [any ChangeConsumer] = observation.map { [$0] + published } ?? published
    guard let changes = ChangeStream.begin(consumers, in: space) else { return }
    if let save = batch.save {
      var oldRows: [ObjectReference: RowImage] = [:]
      for update in save.updated { oldRows[update.row.reference] = update.previousRow }
      for deleted in save.deleted { oldRows[deleted.reference] = deleted.previousRow }
      try changes.save(save, oldRows: oldRows, removedLinks: nil, applied: AppliedRelationships())
    } else {
      // Links are not listed, because the store reports no rows.
      for consumer in published { consumer.stopListingLinks() }
      changes.expect(batch.inserted.count + batch.updated.count + batch.deleted.count)
      for reference in batch.deleted { try changes.delete(reference, nil) }
      let needed = (batch.inserted + batch.updated).filter { changes.needs[$0.entity].includesNewRow }
      let read = needed.isEmpty ? RowList() : try incrementalStore.newValuesForObjects(with: needed.map(space.objectID), in: scope)
      let rows = Dictionary(read.lazy.map { ($0.reference, $0) }) { $1 }
      for reference in batch.inserted { try changes.insert(reference, rows[reference]) }
      for reference in batch.updated {
        try changes.update(reference, storedSlots(of: reference.entity, for: request), old: nil, new: rows[reference])
      }
    }
    for reference in batch.refreshed {
      try changes.update(reference, model.entities[reference.entity].derivedSlots, old: nil, new: nil, isDerived: true)
    }
  }

  /// Returns the slots that a batch request may have changed.
  private func storedSlots(of number: Int, for request: PersistentStoreRequest) -> SlotMask {
    let entity = model.entities[number]
    var slots = SlotMask()
    for slot in entity.slots where !slot.isTransient && !slot.isDerived {
      switch request {
      case .batchInsert(let insertion) where !insertion.given.contains(where: { $0.contains(slot.index) }): continue
      case .batchUpdate(let request) where !mayChange(slot, of: entity, by: request): continue
      default: slots.insert(slot.index)
      }
    }
    return slots
  }

  private func mayChange(_ slot: CompiledSlot, of entity: CompiledEntity, by request: BatchUpdateRequest) -> Bool {
    let values = request.propertiesToUpdate
    if values.keys.contains(slot.name) { return true }
    // Setting a one-to-one relationship clears it in the previous partner.
    if let inverse = slot.relationship.flatMap({ model.inverse(of: $0) }), values.keys.contains(inverse.name) { return true }
    // The first value of a composite also sets its default values.
    return entity.composites.contains { composite in
      composite.slotsWithDefaults.contains(slot.index) && composite.slots.contains { values.keys.contains(entity.slots[$0].name) }
    }
  }
}
