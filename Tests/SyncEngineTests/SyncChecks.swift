import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncCore
@testable import SyncEngine
@testable import _SyncSimulation

/// A violation of an invariant of synchronization.
struct SyncViolation: Error, CustomStringConvertible {
  let description: String
}

/// The invariants of stores that are synchronized with each other. They are checked after each step.
final class SyncChecks {
  /// A save of an application on one of the stores.
  private final class Save {
    let store: Int
    let save: SyncCore.PendingSave
    init(_ store: Int, _ save: SyncCore.PendingSave) { (self.store, self.save) = (store, save) }
  }

  private var saves: [Stamp: Save] = [:]
  /// The records that applications have deleted.
  private var deletions: Set<RecordID> = []
  /// What states have ever required of a record.
  private var required: [RecordID: Set<RecordID>] = [:]

  // MARK: After each step

  /// Checks a store.
  func check(_ store: SyncedStore, _ number: Int) throws {
    let state = try store.replica.simulatedState(store.open)
    let model = store.replica.schema.syncModel
    for save in state.saves { note(save, of: number, model) }
    let view = StateView(state, nil, model)
    let expected = view.objects()
    // An application can have saved a cycle of parents, which the next round opens.
    let isReviewed = state.saves.last.map { $0.number <= max(state.zone.reviewedThrough, state.zone.settledThrough) } ?? true
    for id in Set(expected.keys).union(state.objects.keys) where isReviewed && expected[id] != state.objects[id] {
      throw SyncViolation(
        description: "store \(number): the object \(id.uuid) is \(String(describing: state.objects[id])), and should be "
          + "\(String(describing: expected[id]))")
    }
    for (id, entry) in state.entries where entry.isOrphan != view.isOrphan(id, in: expected) {
      throw SyncViolation(description: "store \(number): \(id.uuid) is no valid orphan: \(entry)")
    }
    try checkAtomicity(view, number)
    try checkRows(store, number)
    try checkLists(store, number)
    for id in view.ids { if let record = view.state(of: id) { noteRequirements(id, record, model) } }
  }

  private func note(_ save: SyncCore.PendingSave, of store: Int, _ model: SyncModel) {
    guard saves[save.stamp] == nil else { return }
    saves[save.stamp] = Save(store, save)
    for change in save.changes {
      if change.values == nil { deletions.insert(change.id) }
      noteRequirements(change.id, change.record(save.stamp), model)
    }
  }

  private func noteRequirements(_ id: RecordID, _ record: Record, _ model: SyncModel) {
    for field in record.fields where model.isRequired(field.property, of: record.entity) {
      if let destination = field.value.reference { required[id, default: []].insert(destination) }
    }
  }

  /// Checks that of each save of which the states contain a part, they contain all that was not replaced.
  private func checkAtomicity(_ view: StateView, _ number: Int) throws {
    var seen: Set<ObjectIdentifier> = []
    for id in view.ids {
      for field in view.state(of: id)?.fields ?? [] {
        guard let save = saves[field.stamp], seen.insert(ObjectIdentifier(save)).inserted else { continue }
        for change in save.save.changes where !contains(change, save.save.stamp, view) {
          throw SyncViolation(
            description: "store \(number) has a part of save \(save.save.number) of store \(save.store), but not the change of "
              + "\(change.id.uuid): \(String(describing: change.values)); \(String(describing: view.state(of: change.id)))")
        }
      }
    }
  }

  private func contains(_ change: PendingChange, _ stamp: Stamp, _ view: StateView) -> Bool {
    // A link that a save has added together with the deletion of an end.
    if change.isEmpty { return true }
    // An object that was deleted before its insertion was sent leaves no record.
    guard let state = view.state(of: change.id) else { return deletions.contains(change.id) }
    if state.isDeleted { return true }
    // A removal of a link in the state is one of its additions, or of later ones of the same devices.
    if change.isLink {
      return change.ownFields.allSatisfy { field in (state[field.property]?.stamp).map { $0 >= field.stamp } ?? false }
        && change.positions.keys.allSatisfy { (state[$0]?.stamp).map { $0 >= stamp } ?? false }
    }
    return change.values?.allSatisfy { (state[$0.key]?.stamp).map { $0 >= stamp } ?? false } ?? false
  }

  /// Checks what the model requires of rows: required destinations, and that both sides of one-to-one relationships agree.
  private func checkRows(_ store: SyncedStore, _ number: Int) throws {
    var rows: [ObjectReference: RowImage] = [:]
    for row in try store.open.allRows() { rows[row.reference] = row }
    for (object, row) in rows {
      let entity = store.open.model.entities[object.entity]
      for slot in entity.slots where !slot.isTransient {
        if !slot.isOptional, row.isNull(slot.index) {
          throw SyncViolation(description: "store \(number): \(entity.name) \(object.key) has no \(slot.name)")
        }
        guard slot.kind == .reference, !row.isNull(slot.index), let relationship = slot.relationship else { continue }
        guard let destination = rows[row.reference(slot.index)] else {
          throw SyncViolation(description: "store \(number): \(entity.name).\(slot.name) of \(object.key) refers to a missing object")
        }
        guard let inverse = store.open.model.inverse(of: relationship), !inverse.isToMany else { continue }
        if destination.isNull(inverse.index) || destination.reference(inverse.index) != object {
          throw SyncViolation(description: "store \(number): the inverse of \(entity.name).\(slot.name) of \(object.key) is another object")
        }
      }
    }
  }

  /// Checks that the rows of lists are in the order of the positions.
  private func checkLists(_ store: SyncedStore, _ number: Int) throws {
    let replica = store.replica
    if replica.schema.lists.isEmpty { return }
    try replica.transaction {
      var progress = BaselineProgress()
      replica.baselineKeys = nil
      defer { replica.baselineKeys = nil }
      while true {
        let rows = try replica.nextRows(&progress, 500)
        if rows.isEmpty { return }
        if let list = try replica.disorderedLists(among: rows).first {
          let name = replica.schema.lists[list.number].relationship.name
          throw SyncViolation(description: "store \(number): the \(name) of \(list.owner.uuid) are not in the order of their positions")
        }
      }
    }
  }

  // MARK: At the end

  /// Checks that stores that are quiet have the same objects, and that nothing is lost.
  func checkEnd(_ stores: [SyncedStore]) throws {
    let first = try stores[0].replica.simulatedState(stores[0].open)
    let view = StateView(first, nil, stores[0].replica.schema.syncModel)
    for (number, store) in stores.enumerated() {
      var verification = ObjectVerification()
      while try !store.replica.verifyObjects(&verification, batch: 7) {}
      if !verification.isEqual { throw SyncViolation(description: "store \(number): \(verification.differences)") }
      if try !store.isIdle { throw SyncViolation(description: "store \(number) is not idle") }
      let other = try store.replica.simulatedState(store.open)
      if other.objects != first.objects {
        let ids = Set(other.objects.keys).union(first.objects.keys).filter { other.objects[$0] != first.objects[$0] }
        throw SyncViolation(description: "stores 0 and \(number) differ: \(ids.map(\.uuid))")
      }
    }
    for (stamp, save) in saves {
      for change in save.save.changes {
        if !contains(change, stamp, view) {
          throw SyncViolation(description: "save \(save.save.number) of store \(save.store) is lost: \(change.id.uuid)")
        }
        if change.values != nil, !change.isLink, first.objects[change.id] == nil, !mayBeDeleted(change.id) {
          throw SyncViolation(description: "\(change.id.uuid) is deleted without a deletion")
        }
      }
    }
  }

  private func mayBeDeleted(_ id: RecordID, depth: Int = 0) -> Bool {
    deletions.contains(id) || depth < 8 && (required[id] ?? []).contains { mayBeDeleted($0, depth: depth + 1) }
  }
}

extension StoreReplica {
  /// Returns the state and the objects of the store as those of a store in memory.
  func simulatedState(_ open: OpenStore) throws -> SimulatedStore.State {
    try transaction {
      var state = SimulatedStore.State(zone: try zone())
      for id in try records(after: nil, maximumCount: .max) { state.entries[id] = try entry(of: id) }
      state.saves = try pendingSaves(after: state.zone.settledThrough, maximumChangeCount: .max)
      state.lastNumber = state.saves.last?.number ?? 0
      state.outbox = try outbox()
      state.staged = try stagedRecords(after: 0, maximumCount: .max)
      for row in try open.allRows() {
        let id = try XCTUnwrap(history.stableIDs(of: [row.reference])[0])
        if state.objects.updateValue(try object(row, of: RecordID(id)), forKey: RecordID(id)) != nil {
          throw SyncViolation(description: "two objects have the stable ID \(id)")
        }
      }
      var progress = BaselineProgress()
      progress.entity = schema.entities.count
      while !progress.isComplete(schema) {
        for link in try nextLinks(&progress, 100) { state.objects[link.id] = try linkObject(link.link) }
      }
      return state
    }
  }
}

extension OpenStore {
  /// Returns the rows of all objects.
  func allRows() throws -> [RowImage] {
    try model.entities.filter { !$0.isAbstract }.flatMap { entity in
      var fetch = FetchSpecification(entityName: entity.name)
      fetch.includesSubentities = false
      return Array(try rows(fetch))
    }
  }
}

extension SyncedStore {
  /// Returns the damage that a verification of the store's file finds, among it foreign keys without a row.
  func verify() throws -> [String] {
    let (url, key) = (url, key)
    return try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: key).verify(.full) }
  }
}
