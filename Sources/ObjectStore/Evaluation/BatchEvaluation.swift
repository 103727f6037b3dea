public import ObjectModel
import ObjectQuery

/// Evaluates a batch request over objects in memory, for stores without a query language.
///
/// A store that keeps all rows in memory uses it for `.batchInsert`, `.batchUpdate`, and `.batchDelete`: ``save(among:resolver:row:)``
/// returns an equivalent save, the store executes it and returns ``BatchChanges/init(_:)``. Conversion, validation, conflict handling, and
/// delete rules are the same as in all stores.
public struct BatchEvaluation: Sendable {
  let model: CompiledModel
  let space: ObjectIDSpace
  private let request: PersistentStoreRequest

  /// Creates an evaluation.
  ///
  /// - Parameters:
  ///   - request: The batch request.
  ///   - model: The model of the store.
  ///   - objectIDSpace: The ID space of the store.
  public init(_ request: PersistentStoreRequest, model: CompiledModel, objectIDSpace: ObjectIDSpace) {
    self.request = request
    self.model = model
    space = objectIDSpace
  }

  /// Returns a save that is equivalent to the request. The time is linear in the number of objects of the entities concerned.
  ///
  /// - Parameters:
  ///   - candidates: Returns all objects of an entity and its subentities, in the order of their keys.
  ///   - resolver: Reads objects.
  ///   - row: Returns the row of an object, or nil if it does not exist.
  /// - Throws: ``BatchError``, ``FetchPredicateError``, or ``StoreError`` for a conflict.
  public func save<Resolver: ObjectResolver<ObjectReference>>(
    among candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver, row: (ObjectReference) throws -> RowImage?
  ) throws -> SaveChangesRequest {
    switch request {
    case .batchInsert(let insertion): return try insert(insertion, candidates: candidates, resolver: resolver, row: row)
    case .batchUpdate(let request): return try update(request, candidates: candidates, resolver: resolver, row: row)
    case .batchDelete(let request): return try delete(request, candidates: candidates, resolver: resolver, row: row)
    case .fetch, .save: throw StoreError(.noBatchRequest, operation: .batchRequest)
    }
  }

  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}

/// Changes of rows, collected by object.
package struct BatchEdits {
  private let model: CompiledModel
  private var edits: [ObjectReference: (row: RowImage, values: [Int: Slot])] = [:]

  init(model: CompiledModel) { self.model = model }

  mutating func set(_ value: Slot, at slot: Int, of row: RowImage) {
    edits[row.reference, default: (row, [:])].values[slot] = value
  }

  /// Returns whether a slot of a row is null after the edits.
  func isNull(_ slot: Int, of row: RowImage) -> Bool { edits[row.reference]?.values[slot]?.isNull ?? row.isNull(slot) }

  /// Returns a copy of a row with some values replaced and the given version.
  package static func edited(_ row: RowImage, _ values: [Int: Slot], entity: CompiledEntity, version: Int64, into writer: RowWriter)
    -> RowImage
  {
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: row.key, version: version)
    for slot in entity.slots where slot.kind != .none {
      if let value = values[slot.index] {
        writer.set(value, at: slot.index)
      } else {
        writer.copy(slot.index, kind: slot.kind, from: row)
      }
    }
    return writer.endRow()
  }

  /// Returns the updates, in the order of the rows' keys.
  func updates() -> [SaveChangesRequest.Update] {
    let writer = RowWriter(rowCapacity: edits.count)
    return edits.sorted { ($0.key.key, $0.key.entity) < ($1.key.key, $1.key.entity) }.map { _, edit in
      var changed = SlotMask()
      for slot in edit.values.keys { changed.insert(slot) }
      let row = Self.edited(
        edit.row, edit.values, entity: model.entities[edit.row.entityNumber], version: edit.row.version + 1, into: writer)
      var update = SaveChangesRequest.Update(row: row, changedSlots: changed, oldVersion: edit.row.version)
      update.previousRow = edit.row
      return update
    }
  }
}
