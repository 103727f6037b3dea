// BatchEvaluation: turns a batch request into a save, for stores without a language of their own for such requests.
public import ObjectModel
import ObjectQuery

/// A batch request, to be carried out over objects in memory.
///
/// A store that holds its whole graph answers `.batchInsert`, `.batchUpdate` and `.batchDelete` with it: the store gets the save that the request amounts to,
/// carries it out, and tells what was written by ``BatchChanges/init(_:)``. Conversions, checks, conflicts and delete rules are those of all stores.
public struct BatchEvaluation: Sendable {
  let model: CompiledModel
  let space: ObjectIDSpace
  private let request: PersistentStoreRequest

  /// A batch request over a model.
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

  /// The save that the request amounts to. Linear in the objects of the entities concerned.
  ///
  /// - Parameters:
  ///   - candidates: All objects of an entity and of its subentities, in the order of their keys.
  ///   - resolver: Reads the objects.
  ///   - row: The row of an object; nil when there is none.
  /// - Throws: ``BatchError``, ``FetchPredicateError``, or ``StoreError`` for a conflict.
  public func save<Resolver: ObjectResolver<ObjectReference>>(
    among candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver, row: (ObjectReference) throws -> RowImage?
  ) throws -> SaveChangesRequest {
    switch request {
    case .batchInsert(let insertion): return try insert(insertion, candidates: candidates, resolver: resolver, row: row)
    case .batchUpdate(let request): return try update(request, candidates: candidates, resolver: resolver, row: row)
    case .batchDelete(let request): return try delete(request, candidates: candidates, resolver: resolver, row: row)
    case .fetch, .save: throw StoreError(.misuse(.noBatchRequest), operation: .batchRequest)
    }
  }

  /// The ID of an object.
  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}

/// Changes of rows, gathered by object.
package struct BatchEdits {
  private let model: CompiledModel
  private var edits: [ObjectReference: (row: RowImage, values: [Int: Slot])] = [:]

  init(model: CompiledModel) { self.model = model }

  /// Sets a slot of a row.
  mutating func set(_ value: Slot, at slot: Int, of row: RowImage) {
    edits[row.reference, default: (row, [:])].values[slot] = value
  }

  /// Whether a slot of a row has no value after the edits.
  func isNull(_ slot: Int, of row: RowImage) -> Bool { edits[row.reference]?.values[slot]?.isNull ?? row.isNull(slot) }

  /// A row with some of its values changed; its version is one more.
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

  /// The updates, in the order of the rows' keys.
  func updates() -> [SaveChangesRequest.Update] {
    let writer = RowWriter(rowCapacity: edits.count)
    return edits.sorted { ($0.key.key, $0.key.entity) < ($1.key.key, $1.key.entity) }.map { _, edit in
      var changed = SlotMask()
      for slot in edit.values.keys { changed.insert(slot) }
      let row = Self.edited(
        edit.row, edit.values, entity: model.entities[edit.row.entityNumber], version: edit.row.version + 1, into: writer)
      var update = SaveChangesRequest.Update(row: row, changedSlots: changed, oldVersion: edit.row.version)
      update.formerRow = edit.row
      return update
    }
  }
}
