import ObjectModel
import ObjectQuery

/// Reads objects from one version of the rows.
struct InMemoryReader: ObjectResolver {
  private let rows: InMemoryRows
  private let space: ObjectIDSpace

  init(rows: InMemoryRows, objectIDSpace: ObjectIDSpace) {
    self.rows = rows
    space = objectIDSpace
  }

  func answer(_ specification: FetchSpecification) throws -> PersistentStoreResult {
    let evaluation = try FetchEvaluation(specification, model: rows.model)
    let candidates = rows.rows(of: evaluation.entity, includesSubentities: specification.includesSubentities)
    return try evaluation.answer(among: candidates.map(\.reference), resolver: self, row: rows.row(of:))
  }

  /// Returns a save that is equivalent to a batch request.
  func save(for request: PersistentStoreRequest) throws -> SaveChangesRequest {
    try BatchEvaluation(request, model: rows.model, objectIDSpace: space).save(
      among: { rows.rows(of: $0, includesSubentities: true).map(\.reference) }, resolver: self, row: rows.row(of:))
  }

  func entity(of object: ObjectReference) -> CompiledEntity { rows.model.entities[object.entity] }

  func objectID(of object: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(object.entity), key: object.key)
  }

  func value(of object: ObjectReference, slot: Int) throws -> Slot {
    guard let row = rows.row(of: object), slot < row.slotCount else { return .null }
    let entity = rows.model.entities[row.entityNumber]
    return try row.value(slot, of: entity, objectID(of: object))
  }

  func destination(of object: ObjectReference, slot: Int) -> ObjectReference? {
    guard let row = rows.row(of: object), slot < row.slotCount, !row.isNull(slot) else { return nil }
    return row.reference(slot)
  }

  func members(of object: ObjectReference, toMany index: Int) -> [ObjectReference] {
    let relationships = entity(of: object).toManyRelationships
    return index < relationships.count ? members(of: object, relationship: relationships[index]) : []
  }

  func members(of object: ObjectReference, relationship: CompiledRelationship) -> [ObjectReference] {
    rows.members(of: relationship)[object] ?? []
  }
}
