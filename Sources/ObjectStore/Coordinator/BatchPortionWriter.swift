// BatchPortionWriter: hands portions of a batch insertion to a store, after a look at what they refer to.
import Foundation
import ObjectModel
import Synchronization

/// Writes the portions of one batch insertion, one after the other. Safe to use from any thread.
final class BatchPortionWriter: Sendable {
  private let entity: CompiledEntity
  private let model: CompiledModel
  private let store: PersistentStore
  private let scope: RequestScope

  private struct State {
    var changes = BatchChanges()
    /// Destinations that were found to be there.
    var known: Set<ObjectReference> = []
  }
  private let state = Mutex(State())

  init(entity: CompiledEntity, model: CompiledModel, store: PersistentStore, scope: RequestScope) {
    self.entity = entity
    self.model = model
    self.store = store
    self.scope = scope
  }

  /// Writes a portion; its rows get their keys.
  @discardableResult
  func write(_ portion: BatchInsertion) throws -> BatchChanges {
    if portion.rows.isEmpty { return BatchChanges() }
    try scope.cancellation?.check(.batchInsert)
    return try state.withLock { state in
      try checkDestinations(of: portion, known: &state.known)
      let placeholder = ManagedObjectID(space: store.space.number, entityNumber: UInt32(entity.number), key: -1)
      let placeholders = Array(repeating: placeholder, count: portion.rows.count)
      let ids = try store.incrementalStore.obtainPermanentIDs(for: placeholders, in: scope)
      guard ids.count == portion.rows.count else {
        throw StoreError(.wrongNumberOfIDs(given: ids.count, asked: portion.rows.count), operation: .batchInsert)
      }
      portion.rows.setKeys(ids.map(\.key))
      do {
        var portion = portion
        if entity.hasDerivedSlots {
          var request = SaveChangesRequest()
          request.inserted = portion.rows
          portion.rows = try request.withLocalValues(model, now: Date().timeIntervalSinceReferenceDate).inserted
        }
        guard case .batch(let written) = try store.incrementalStore.execute(.batchInsert(portion), in: scope) else {
          throw StoreError(
            .internalInconsistency, "The store answered a batch request with a result of another kind.", operation: .batchRequest)
        }
        state.changes.inserted += written.inserted
        state.changes.updated += written.updated
        state.changes.refreshed += written.refreshed
        store.cache.remove(written.updated + written.refreshed)
        return written
      } catch let error as StoreError where error.code == .constraintConflict {
        throw Self.naming(error, portion)
      }
    }
  }

  /// What was written, once each.
  var changes: BatchChanges {
    var changes = state.withLock { $0.changes }
    if !changes.updated.isEmpty || !changes.refreshed.isEmpty {
      var seen = Set(changes.inserted)
      changes.updated = changes.updated.filter { seen.insert($0).inserted }
      changes.refreshed = changes.refreshed.filter { seen.insert($0).inserted }
    }
    return changes
  }

  /// The result of the whole insertion.
  func outcome(_ resultType: BatchResultType) -> BatchOutcome {
    var outcome = BatchOutcome(result: BatchResult(.insertion, resultType))
    outcome.add(changes, of: store)
    return outcome
  }

  /// Every object that a row refers to must be there.
  private func checkDestinations(of portion: BatchInsertion, known: inout Set<ObjectReference>) throws {
    let slots = entity.slots.filter { $0.relationship != nil }.map(\.index)
    var asked: [ObjectReference] = []
    for (row, given) in zip(portion.rows, portion.given) {
      for slot in slots where given.contains(slot) && !row.isNull(slot) {
        if known.insert(row.reference(slot)).inserted { asked.append(row.reference(slot)) }
      }
    }
    guard !asked.isEmpty else { return }
    let found = try store.incrementalStore.newValuesForObjects(with: store.objectIDs(of: asked), in: scope)
    let missing = Set(asked).subtracting(found.references)
    guard !missing.isEmpty else { return }
    for (position, row) in portion.rows.enumerated() {
      for slot in slots where portion.given[position].contains(slot) && missing.contains(row.reference(slot)) {
        throw BatchError(
          .objectNotFound, entityName: entity.name, key: entity.slots[slot].name, row: portion.firstRow + position,
          reason: "was given an object that is not in the store.")
      }
    }
  }

  /// The error of a conflict, with the number of the row.
  private static func naming(_ error: StoreError, _ portion: BatchInsertion) -> StoreError {
    let objectIDs = Set(error.constraintConflicts.flatMap(\.objectIDs).map(\.reference))
    guard let conflict = error.constraintConflicts.first, let position = portion.rows.lastIndex(where: { objectIDs.contains($0.reference) })
    else { return error }
    var named = StoreError(
      .rowHasTakenValues(row: portion.firstRow + position, entity: conflict.entityName, properties: conflict.constraint),
      operation: .batchInsert, path: error.path, underlying: error.underlying)
    (named.sqliteCode, named.sqliteExtendedCode) = (error.sqliteCode, error.sqliteExtendedCode)
    named.constraintConflicts = error.constraintConflicts
    return named
  }
}
