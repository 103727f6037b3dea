// ObjectSnapshot+Making: snapshots of objects that are to be made, and members in their stated order.
public import ObjectModel
import ObjectStore

extension ObjectSnapshot {
  /// Begins a snapshot of an object that is to be made: with the model's default values. Applying it inserts an object.
  ///
  /// - Parameters:
  ///   - entityName: The entity.
  ///   - model: The model, which is to be that of the contexts that the snapshot is applied to.
  /// - Throws: ``ModelValidationError`` with the mistakes of the model; ``StoreError`` with ``StoreError/Code/invalidRequest`` where there is no such entity, or
  ///   it is abstract.
  public init(entityName: String, model: ManagedObjectModel) throws {
    let compiled = try CompiledModel.compiling(model)
    guard let entity = compiled.entity(named: entityName) else {
      throw StoreError(.unknownEntity(entityName, known: compiled.entities.map(\.name)), operation: .takeSnapshot)
    }
    if entity.isAbstract { throw StoreError(.abstractEntity(entityName), operation: .insert) }
    self.init(newObjectOf: entity, space: ObjectIDSpace.register(storeIdentifier: nil, model: compiled).number)
  }

  /// A snapshot with an entity's default values.
  private init(newObjectOf entity: CompiledEntity, space: UInt32) {
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: 0, version: 0)
    for index in entity.slotsWithDefaults where entity.slots[index].kind != .none && !entity.slots[index].isDerived {
      writer.set(entity.slots[index].defaultValue, at: index)
    }
    self.init(writer.endRow(), of: entity, space: space)
  }

  /// Members in the order that a snapshot has them in: their own, or that of their keys where the relationship has none. Each counts once.
  static func ordered(_ ids: some Sequence<ManagedObjectID>, of relationship: CompiledRelationship) -> [ManagedObjectID] {
    var seen = Set<ManagedObjectID>()
    let distinct = ids.filter { seen.insert($0).inserted }
    if relationship.isOrdered { return distinct }
    return distinct.sorted { ($0.space, $0.entityNumber, $0.key) < ($1.space, $1.entityNumber, $1.key) }
  }
}
