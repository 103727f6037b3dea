import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// The rows, links, and orders that the changes of a store describe.
///
/// A change that does not fit the replica, such as the removal of a link that it does not have, is a problem.
final class ChangeReplica {
  private let model: CompiledModel
  /// Whether the store reports its changes itself. Other stores report neither former derived values nor links without an inverse that are
  /// removed with their members.
  private let isComplete: Bool
  private var rows: [ObjectReference: [Slot]] = [:]
  private var links: [Int: Set<Link>] = [:]
  private var orders: [Owner: [ObjectReference]] = [:]
  private(set) var problems: [String] = []

  private struct Owner: Hashable {
    let object: ObjectReference
    let relationshipID: Int
  }

  private struct Link: Hashable {
    let source: ObjectReference
    let member: ObjectReference
  }

  init(_ model: CompiledModel, isComplete: Bool) { (self.model, self.isComplete) = (model, isComplete) }

  private func name(_ reference: ObjectReference) -> String { "\(model.entities[reference.entity].name) \(reference.key)" }

  private func name(_ relationship: CompiledRelationship) -> String {
    "\(model.entities[relationship.sourceEntity].name).\(relationship.name)"
  }

  // MARK: Changes

  func apply(_ change: RowChange) throws {
    switch change {
    case .insert(let row): insert(row.reference, try values(row.new))
    case .update(let row):
      let new = try XCTUnwrap(row.new, "an update of \(name(row.reference)) has no new values")
      let old = row.isDerived && !isComplete ? nil : try values(XCTUnwrap(row.old, "an update has no old values"))
      update(row.reference, old, try values(new), slots: row.slots)
    case .delete(let row): delete(row.reference, try values(row.old))
    case .links(let change):
      for member in change.removedMembers { remove(Link(source: change.source, member: member), from: change.relationship) }
      for member in change.addedMembers { add(Link(source: change.source, member: member), to: change.relationship) }
    case .order(let order):
      orders[Owner(object: order.source, relationshipID: order.relationship.id)] = order.order
    case .schema, .unspecified: problems.append("changes of the schema, or unspecified ones")
    }
  }

  private func values(_ row: RowImage?) throws -> [Slot] {
    guard let row else { return [] }
    return try model.entities[row.entityNumber].slots.map { $0.kind == .none ? .null : try row.slot($0.index, kind: $0.kind) }
  }

  private func insert(_ object: ObjectReference, _ values: [Slot]) {
    if rows.updateValue(values, forKey: object) != nil { problems.append("\(name(object)) is inserted twice") }
  }

  private func update(_ object: ObjectReference, _ old: [Slot]?, _ new: [Slot], slots: SlotMask) {
    guard let known = rows.updateValue(new, forKey: object) else { return problems.append("\(name(object)) is updated but unknown") }
    let entity = model.entities[object.entity]
    if let old, old != known { problems.append("old values of \(name(object)) are \(old) instead of \(known)") }
    for slot in entity.slots where known[slot.index] != new[slot.index] && !slots.contains(slot.index) {
      problems.append("\(name(object)).\(slot.name) changes without being listed")
    }
  }

  private func delete(_ object: ObjectReference, _ old: [Slot]) {
    guard let known = rows.removeValue(forKey: object) else { return problems.append("\(name(object)) is deleted but unknown") }
    if old != known { problems.append("values of the deleted \(name(object)) are \(old) instead of \(known)") }
  }

  private func add(_ link: Link, to relationship: CompiledRelationship) {
    check(link, relationship)
    if !links[relationship.id, default: []].insert(link).inserted {
      problems.append("\(name(relationship)): \(name(link.member)) is added twice to \(name(link.source))")
    }
  }

  private func remove(_ link: Link, from relationship: CompiledRelationship) {
    check(link, relationship)
    if links[relationship.id, default: []].remove(link) == nil {
      problems.append("\(name(relationship)): \(name(link.member)) is removed from \(name(link.source)) but unknown")
    }
  }

  /// Checks that a link is reported for the leading relationship, and for the first end if that is its own inverse.
  private func check(_ link: Link, _ relationship: CompiledRelationship) {
    let inverse = model.inverse(of: relationship)?.id ?? .max
    if inverse < relationship.id || inverse == relationship.id && link.source.rawValue > link.member.rawValue {
      problems.append("\(name(relationship)): the link from \(name(link.source)) to \(name(link.member)) is reported for the wrong end")
    }
  }

  // MARK: History

  func apply(_ transaction: PersistentHistoryTransaction) {
    for change in transaction.changes ?? [] {
      let object = change.changedObjectID.reference
      let entity = model.entities[object.entity]
      switch change.changeType {
      case .insert: insert(object, values(change.newValues, over: emptyRow(entity), entity))
      case .update:
        if change.newValues != nil || change.oldValues != nil {
          guard let known = rows[object] else { return problems.append("\(name(object)) is updated but unknown") }
          let names = Set(change.newValues?.names ?? [])
          var mask = SlotMask()
          for slot in entity.slots where names.contains(slot.name) { mask.insert(slot.index) }
          update(object, values(change.oldValues, over: known, entity), values(change.newValues, over: known, entity), slots: mask)
        }
      case .delete: delete(object, values(change.oldValues, over: emptyRow(entity), entity))
      }
      for link in change.links {
        guard let relationship = entity.relationships.first(where: { $0.name == link.relationship }) else { continue }
        let pair = Link(source: object, member: link.destination.reference)
        if link.isAdded { add(pair, to: relationship) } else { remove(pair, from: relationship) }
      }
      for (name, _) in change.orders {
        guard let relationship = entity.relationships.first(where: { $0.name == name }) else { continue }
        let owner = Owner(object: object, relationshipID: relationship.id)
        let space = change.changedObjectID.space
        let members = (orders[owner] ?? []).map { ManagedObjectID(space: space, entityNumber: UInt32($0.entity), key: $0.key) }
        orders[owner] = change.order(members, of: name)?.map(\.reference)
      }
    }
  }

  private func emptyRow(_ entity: CompiledEntity) -> [Slot] { entity.slots.map { _ in .null } }

  private func values(_ values: PersistentHistoryChange.Values?, over row: [Slot], _ entity: CompiledEntity) -> [Slot] {
    var row = row
    for slot in entity.slots {
      switch values?.values[slot.name] {
      case .attribute(let value): row[slot.index] = value
      case .object(let id): row[slot.index] = id.map { .int($0.reference.rawValue) } ?? .null
      case .large, nil: break
      }
    }
    return row
  }

  // MARK: Comparison

  /// Compares the replica with the store.
  ///
  /// - Parameter isHistory: Whether the replica was made from a history, which does not record derived values.
  /// - Returns: The differences and the problems so far.
  func differences(to open: OpenStore, isHistory: Bool = false) throws -> [String] {
    var found = problems
    problems = []
    var stored: [ObjectReference: [Slot]] = [:]
    for entity in model.entities where entity.number == entity.root {
      for row in try open.rows(FetchSpecification(entityName: entity.name)) { stored[row.reference] = try values(row) }
    }
    for (object, values) in stored {
      guard let known = rows[object] else {
        found.append("\(name(object)) is missing")
        continue
      }
      for slot in model.entities[object.entity].slots where known[slot.index] != values[slot.index] && !(isHistory && slot.isDerived) {
        found.append("\(name(object)).\(slot.name) is \(known[slot.index]) instead of \(values[slot.index])")
      }
    }
    for object in rows.keys where stored[object] == nil { found.append("\(name(object)) is not in the store") }
    for relationship in model.relationships where relationship.isToMany && (isComplete || relationship.inverseID != nil) {
      try compare(relationship, Array(stored.keys), open, &found)
    }
    return found
  }

  private func compare(
    _ relationship: CompiledRelationship, _ objects: [ObjectReference], _ open: OpenStore, _ found: inout [String]
  ) throws {
    let owners = objects.filter { model.entities[relationship.sourceEntity].subtree.contains($0.entity) }
    let ids = owners.map(open.scope.objectIDSpace.objectID)
    let values = try open.store.newValues(forRelationship: relationship, forObjectsWith: ids, in: open.scope)
    let inverse = model.inverse(of: relationship)
    var stored: Set<Link> = []
    for (position, owner) in owners.enumerated() {
      let members = Array(values[position])
      for member in members where inverse?.id != relationship.id || owner.rawValue <= member.rawValue {
        stored.insert(Link(source: owner, member: member))
      }
      guard relationship.isOrdered else { continue }
      let order = orders[Owner(object: owner, relationshipID: relationship.id)] ?? []
      let (ordered, present) = (Set(order), Set(members))
      // Members that batch requests have added have no place in the reported order.
      if order.filter(present.contains) != members.filter(ordered.contains) {
        found.append("\(name(relationship)) of \(name(owner)): order \(order.map(\.key)) instead of \(members.map(\.key))")
      }
    }
    guard inverse?.isToMany ?? true, relationship.id <= inverse?.id ?? .max else { return }
    let known = links[relationship.id] ?? []
    for link in stored.subtracting(known) { found.append("\(name(relationship)): \(name(link.source)) lacks \(name(link.member))") }
    for link in known.subtracting(stored) {
      found.append("\(name(relationship)): \(name(link.source)) still has \(name(link.member))")
    }
  }
}

/// Applies the changes of committed transactions to a replica.
final class ReplicatingObserver: TransactionObserver {
  private let pending = Mutex<[ObservedTransaction: [RowChange]]>([:])
  private let committed = Mutex<[RowChange]>([])
  private let rejection = Mutex<(any Error)?>(nil)

  /// Rejects the transactions that begin to commit from now on.
  func reject(with error: (any Error)?) { rejection.withLock { $0 = error } }

  /// Returns the changes of the transactions that were committed since the last call.
  func takeChanges() -> [RowChange] {
    committed.withLock { changes in
      defer { changes = [] }
      return changes
    }
  }

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
    pending.withLock { $0[transaction, default: []].append(change) }
  }
  func willCommit(_ transaction: ObservedTransaction) throws {
    if let error = rejection.withLock({ $0 }) { throw error }
  }
  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {
    pending.withLock { $0[transaction] = Array(($0[transaction] ?? []).prefix(count)) }
  }
  func didCommit(_ transaction: ObservedTransaction) {
    let changes = pending.withLock { $0.removeValue(forKey: transaction) } ?? []
    committed.withLock { $0 += changes }
  }
  func didRollback(_ transaction: ObservedTransaction) { pending.withLock { $0[transaction] = nil } }
}
