import Foundation
import ObjectModel
import Synchronization

/// Writes the chunks of a batch insert in sequence, after checking the objects that they refer to, and publishes the changes of each
/// transaction. Safe to use from any thread.
final class BatchChunkWriter: Sendable {
  private let entity: CompiledEntity
  private let model: CompiledModel
  private let store: PersistentStore
  private let scope: RequestScope
  private let resultType: BatchResultType
  private let publishes: Bool
  private let merges: Bool
  /// The to-one relationships whose inverse is to-many.
  private let relationships: [CompiledRelationship]

  private struct State {
    var changes = BatchChanges()
    /// The number of changes that were published.
    var reported = (inserted: 0, updated: 0, refreshed: 0)
    /// The slots given by any row since the last publication.
    var given = SlotMask()
    /// The links changed since the last publication, or nil if they are unknown or too many.
    var links: LinkCollector?
    var changeSets: [ChangeSet] = []
    /// The relationship destinations that are known to exist.
    var known: Set<ObjectReference> = []

    /// Collects the links of a chunk. The rows themselves, which may be large, are not retained.
    mutating func record(_ written: BatchLinks) {
      let count = changes.inserted.count - reported.inserted + changes.updated.count - reported.updated
      if count > BatchLinks.maximumRowCount || links?.add(written) != true || links?.unlisted.isEmpty != true { links = nil }
    }
  }
  private let state: Mutex<State>

  /// - Parameters:
  ///   - publishes: Whether the coordinator publishes the changes.
  ///   - merges: Whether the caller merges the changes into its objects.
  init(
    entity: CompiledEntity, model: CompiledModel, store: PersistentStore, scope: RequestScope, resultType: BatchResultType, publishes: Bool,
    merges: Bool
  ) {
    self.entity = entity
    self.model = model
    self.store = store
    self.scope = scope
    self.resultType = resultType
    self.publishes = publishes
    self.merges = merges
    relationships = entity.slots.compactMap(\.relationship).filter { model.inverse(of: $0)?.isToMany ?? false }
    state = Mutex(State(links: LinkCollector(model)))
  }

  /// Assigns keys to the rows of a chunk and writes them. The caller must hold the store's lock until it has called ``finish()``.
  func write(_ chunk: BatchInsertion) throws {
    if chunk.rows.isEmpty { return }
    try scope.cancellation?.check(.batchInsert)
    try state.withLock { state in
      try checkDestinations(of: chunk, known: &state.known)
      let placeholder = ManagedObjectID(space: store.space.number, entityNumber: UInt32(entity.number), key: -1)
      let placeholders = Array(repeating: placeholder, count: chunk.rows.count)
      let ids = try store.incrementalStore.obtainPermanentIDs(for: placeholders, in: scope)
      guard ids.count == chunk.rows.count else {
        throw StoreError(.wrongNumberOfIDs(given: ids.count, asked: chunk.rows.count), operation: .batchInsert)
      }
      chunk.rows.setKeys(ids.map(\.key))
      do {
        var chunk = chunk
        if entity.hasDerivedSlots {
          var request = SaveChangesRequest()
          request.inserted = chunk.rows
          chunk.rows = try request.withLocalValues(model, now: Date().timeIntervalSinceReferenceDate).inserted
        }
        guard case .batch(let written) = try store.incrementalStore.execute(.batchInsert(chunk), in: scope) else {
          throw StoreError(.resultTypeMismatch, operation: .batchRequest)
        }
        state.changes.inserted += written.inserted
        state.changes.updated += written.updated
        state.changes.refreshed += written.refreshed
        if !relationships.isEmpty {
          for given in chunk.given { state.given.formUnion(given) }
          state.record(written.links)
        }
        store.cache.remove(written.updated + written.refreshed)
      } catch let error as StoreError where error.code == .constraintConflict {
        throw Self.naming(error, chunk)
      }
    }
  }

  /// Publishes the changes since the last call. Must be called at the end of each transaction, with the store's lock held.
  ///
  /// - Returns: The changes that the caller merges, or nil if there are none or the caller does not merge.
  @discardableResult
  func finish() -> ChangeSet? {
    let (changes, given) = state.withLock { state in
      let (all, reported) = (state.changes, state.reported)
      defer {
        state.reported = (all.inserted.count, all.updated.count, all.refreshed.count)
        state.given = SlotMask()
        state.links = LinkCollector(model)
      }
      var changes = BatchChanges(
        inserted: Array(all.inserted[reported.inserted...]), updated: Array(all.updated[reported.updated...]),
        refreshed: Array(all.refreshed[reported.refreshed...]))
      if let links = state.links { changes.links = .listed(links.changes) }
      return (changes.once, state.given)
    }
    var outcome = BatchOutcome(result: BatchResult(.insertion, resultType))
    outcome.add(changes, of: store, publishes: publishes, merges: merges) {
      // The previous values of updated rows have not been read, so their changed slots are unknown.
      ChangeSet(
        changes, updatedSlots: nil, setting: relationships.filter { given.contains($0.index) }, of: store, scope: scope)
    }
    state.withLock { $0.changeSets += outcome.changes }
    return outcome.changes.first
  }

  var outcome: BatchOutcome {
    state.withLock { state in
      var outcome = BatchOutcome(result: BatchResult(.insertion, resultType), changes: state.changeSets)
      outcome.result.add(state.changes.once, of: store)
      return outcome
    }
  }

  /// Checks that all relationship destinations of a chunk exist.
  private func checkDestinations(of chunk: BatchInsertion, known: inout Set<ObjectReference>) throws {
    let slots = entity.slots.filter { $0.relationship != nil }.map(\.index)
    var asked: [ObjectReference] = []
    for (row, given) in zip(chunk.rows, chunk.given) {
      for slot in slots where given.contains(slot) && !row.isNull(slot) {
        if known.insert(row.reference(slot)).inserted { asked.append(row.reference(slot)) }
      }
    }
    guard !asked.isEmpty else { return }
    let found = try store.incrementalStore.newValuesForObjects(with: store.objectIDs(of: asked), in: scope)
    let missing = Set(asked).subtracting(found.references)
    guard !missing.isEmpty else { return }
    for (position, row) in chunk.rows.enumerated() {
      for slot in slots where chunk.given[position].contains(slot) && missing.contains(row.reference(slot)) {
        throw BatchError(
          .objectNotFound, entityName: entity.name, key: entity.slots[slot].name, row: chunk.firstRow + position,
          reason: "was given an object that is not in the store.")
      }
    }
  }

  /// Returns a uniqueness error that names the row, by its index in the whole request.
  private static func naming(_ error: StoreError, _ chunk: BatchInsertion) -> StoreError {
    let objectIDs = Set(error.constraintConflicts.flatMap(\.objectIDs).map(\.reference))
    guard let conflict = error.constraintConflicts.first, let position = chunk.rows.lastIndex(where: { objectIDs.contains($0.reference) })
    else { return error }
    var named = StoreError(
      .rowConflict(row: chunk.firstRow + position, entity: conflict.entityName, properties: conflict.constraint),
      operation: .batchInsert, path: error.path, underlying: error.underlying)
    (named.sqliteCode, named.sqliteExtendedCode) = (error.sqliteCode, error.sqliteExtendedCode)
    named.constraintConflicts = error.constraintConflicts
    return named
  }
}

extension BatchChanges {
  fileprivate var once: BatchChanges {
    if updated.isEmpty, refreshed.isEmpty { return self }
    var (changes, seen) = (self, Set(inserted))
    changes.updated = updated.filter { seen.insert($0).inserted }
    changes.refreshed = refreshed.filter { seen.insert($0).inserted }
    return changes
  }
}
