// BatchInsertionWork: a batch insertion under way: rows are taken from the request and handed to the store in portions.
import ObjectModel

/// A batch insertion under way.
struct BatchInsertionWork {
  private let request: BatchInsertRequest
  private let entity: CompiledEntity
  private let store: PersistentStore
  private let scope: RequestScope
  private let builder: BatchRowBuilder
  /// Keys for rows to come. How many are asked for at once grows.
  private var keys: ArraySlice<ManagedObjectID> = []
  private var keyCount = 1
  private var changes = BatchChanges()
  /// Destinations that were found to be there.
  private var known: Set<ObjectReference> = []

  init(
    _ request: BatchInsertRequest, entity: CompiledEntity, coordinator: PersistentStoreCoordinator, store: PersistentStore,
    scope: RequestScope
  ) {
    self.request = request
    self.entity = entity
    self.store = store
    self.scope = scope
    builder = BatchRowBuilder(
      entity: entity, model: coordinator.compiledModel, space: store.space, temporarySpace: coordinator.temporarySpace)
  }

  /// Takes rows until the portion is full; false when there are none any more.
  mutating func fill() throws -> Bool {
    while !builder.isFull {
      guard try request.source(builder) else { return false }
      builder.endRow(key: try nextKey())
    }
    return true
  }

  private mutating func nextKey() throws -> Int64 {
    if let next = keys.popFirst() { return next.key }
    let placeholder = ManagedObjectID(space: store.space.number, entityNumber: UInt32(entity.number), key: -1)
    keys = try store.incrementalStore.obtainPermanentIDs(for: Array(repeating: placeholder, count: keyCount), in: scope)[...]
    keyCount = min(keyCount * 8, 512)
    guard let next = keys.popFirst() else {
      throw StoreError(.internalInconsistency, "The store gave no IDs.", operation: "batch insert")
    }
    return next.key
  }

  /// Writes the portion.
  mutating func write() throws {
    guard builder.count > 0 else { return }
    let portion = builder.takePortion(onConflict: request.onConflict)
    try checkDestinations(of: portion)
    do {
      guard case .batch(let written) = try store.incrementalStore.execute(.batchInsert(portion), in: scope) else {
        throw StoreError(.internalInconsistency, "The store answered a batch request with a result of another kind.", operation: "batch")
      }
      changes.inserted += written.inserted
      changes.updated += written.updated
      store.cache.remove(written.updated)
    } catch let error as StoreError where error.code == .constraintConflict {
      throw Self.naming(error, portion)
    }
  }

  /// What was written, once each.
  var outcome: BatchOutcome {
    var outcome = BatchOutcome(result: BatchResult(.insertion, request.resultType))
    var changes = changes
    if !changes.updated.isEmpty {
      var seen = Set(changes.inserted)
      changes.updated = changes.updated.filter { seen.insert($0).inserted }
    }
    outcome.add(changes, of: store)
    return outcome
  }

  /// Every object that a row refers to must be there.
  private mutating func checkDestinations(of portion: BatchInsertion) throws {
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
    var error = error
    let objectIDs = Set(error.constraintConflicts.flatMap(\.objectIDs).map(\.reference))
    guard let conflict = error.constraintConflicts.first, let position = portion.rows.lastIndex(where: { objectIDs.contains($0.reference) })
    else { return error }
    error.message =
      "Row \(portion.firstRow + position) of the batch has values of \(conflict.constraint.joined(separator: ", ")) that another object or row "
      + "of “\(conflict.entityName)” has. Nothing was written."
    error.operation = "batch insert"
    return error
  }
}
