import Foundation
import ObjectModel

extension InMemoryRows {
  /// Applies a save and reports its changes to the history, if there is one, and to the observers of the transaction.
  ///
  /// - Parameter isPart: Whether the save is part of a transaction over several requests.
  mutating func save(
    _ request: SaveChangesRequest, _ kind: HistoryKind, in scope: RequestScope, opening: String, observation: TransactionObservation?,
    isPart: Bool
  ) throws -> SaveOutcome {
    // Derived values that depend on the row alone come first, because uniqueness constraints may include them.
    let now = Date().timeIntervalSinceReferenceDate
    var request = model.derivations.isEmpty ? request : try request.withLocalValues(model, now: now)
    mergeOrders(of: &request)
    let record = history.map { InMemoryHistoryRecord(of: $0) }
    let origin = scope.origin(of: kind)
    observation?.begin(origin)
    var consumers: [any ChangeConsumer] = scope.publishedChanges
    if let observation { consumers.insert(observation, at: 0) }
    if let record { consumers.insert(record, at: 0) }
    guard let changes = ChangeStream.begin(consumers, in: scope.objectIDSpace) else {
      return try save(request, objectIDSpace: scope.objectIDSpace)
    }
    if kind == .batch { changes.expect(request.inserted.count + request.updated.count + request.deleted.count) }
    let oldRows = oldRows(of: request, for: changes)
    let removedLinks = removedLinks(of: request, for: changes)
    let before = self
    var outcome = try save(request, objectIDSpace: scope.objectIDSpace)
    let applied = applied(request, removedLinks, since: before)
    try changes.save(request, oldRows: oldRows, removedLinks: removedLinks, applied: applied)
    try reportDerivedValues(outcome, of: request, since: before, to: changes)
    if let record {
      outcome.historyPosition = history?.add(
        record.takeRecorder(), HistoryAuthorship(origin, opening: opening, time: now), isPart: isPart)
    }
    return outcome
  }

  /// Merges the orders of a save with those that others have saved since the members were read.
  private func mergeOrders(of request: inout SaveChangesRequest) {
    for (position, change) in request.relationshipChanges.enumerated() {
      // The usual case. Finding the members takes time linear in the number of rows.
      guard let previous = change.previousOrder, orders[change.relationshipID]?[change.source] ?? [] != previous else { continue }
      let stored = members(of: model.relationships[change.relationshipID])[change.source] ?? []
      request.relationshipChanges[position] = change.merged(with: stored)
    }
  }

  /// Reports the rows with new derived values.
  private func reportDerivedValues(
    _ outcome: SaveOutcome, of request: SaveChangesRequest, since before: InMemoryRows, to changes: ChangeStream
  ) throws {
    if outcome.refreshed.isEmpty { return }
    var written: [ObjectReference: RowImage] = [:]
    for row in request.inserted { written[row.reference] = row }
    for update in request.updated { written[update.row.reference] = update.row }
    for row in outcome.refreshed {
      guard let old = written[row.reference] ?? before.row(of: row.reference) else { continue }
      let slots = row.derivedSlots(differingFrom: old, of: model.entities[row.entityNumber])
      if !slots.isEmpty { try changes.update(row.reference, slots, old: old, new: row, isDerived: true) }
    }
  }

  private func oldRows(of request: SaveChangesRequest, for changes: ChangeStream) -> [ObjectReference: RowImage] {
    var rows: [ObjectReference: RowImage] = [:]
    for deleted in request.deleted {
      let needs = changes.needs[deleted.reference.entity]
      guard needs.includesDeletedRow || needs.includesDeletedDestinations else { continue }
      rows[deleted.reference] = row(of: deleted.reference)
    }
    for update in request.updated where changes.needsOldRow(of: update) { rows[update.row.reference] = row(of: update.row.reference) }
    return rows
  }

  private func removedLinks(of request: SaveChangesRequest, for changes: ChangeStream) -> RemovedLinks? {
    if request.deleted.isEmpty { return nil }
    var removed = RemovedLinks(changes, of: request)
    let deleted = removed.deleted
    for (number, pairs) in links.sorted(by: { $0.key < $1.key }) {
      let relationship = model.relationships[number]
      let found = pairs.filter { deleted.contains($0.source) || deleted.contains($0.destination) }
      let sorted = found.sorted { ($0.source.key, $0.destination.key) < ($1.source.key, $1.destination.key) }
      for link in sorted where deleted.contains(link.source) {
        removed.add(relationship, of: link.source, link.destination, isReversed: false)
      }
      // A relationship that is its own inverse has each link in both directions.
      if relationship.isItsOwnInverse { continue }
      for link in sorted where !deleted.contains(link.source) {
        removed.add(relationship, of: link.destination, link.source, isReversed: true)
      }
    }
    return removed
  }

  /// Returns what the relationship changes of a request have changed.
  private func applied(_ request: SaveChangesRequest, _ removedLinks: RemovedLinks?, since before: InMemoryRows) -> AppliedRelationships {
    var applied = AppliedRelationships()
    // A link of a relationship that is its own inverse can be changed from both ends.
    var (added, removed): ([Int: Set<Link>], [Int: Set<Link>]) = ([:], [:])
    for (position, change) in request.relationshipChanges.enumerated() {
      let relationship = model.relationships[change.relationshipID]
      if model.inverse(of: relationship)?.isToMany ?? true {
        let leading = model.leading(relationship)
        let (number, isReversed) = (leading.relationship.id, leading.isReversed)
        let stored = before.links[number] ?? []
        func isChanged(_ member: ObjectReference, _ changed: inout [Int: Set<Link>]) -> Bool {
          let link = link(change.source, member, isReversed: isReversed)
          guard changed[number, default: []].insert(link).inserted else { return false }
          if relationship.isItsOwnInverse { changed[number]?.insert(Link(source: link.destination, destination: link.source)) }
          return true
        }
        for member in change.removed {
          if removedLinks?.contains(member, removedBy: change) == true { continue }
          let isStored = stored.contains(link(change.source, member, isReversed: isReversed))
          let remains = row(of: member) != nil && row(of: change.source) != nil
          if !isStored || !remains || !isChanged(member, &removed) { applied.omitRemoval(of: member, at: position) }
        }
        for member in change.added {
          let isStored = stored.contains(link(change.source, member, isReversed: isReversed))
          if isStored || !isChanged(member, &added) { applied.omitAddition(of: member, at: position) }
        }
      }
      guard change.order != nil else { continue }
      let members = members(of: relationship)[change.source] ?? []
      applied.setOrder(members, OrderChange(from: before.members(of: relationship)[change.source] ?? [], to: members), at: position)
    }
    return applied
  }
}
