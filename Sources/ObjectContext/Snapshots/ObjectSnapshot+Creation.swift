public import ObjectModel
import ObjectStore

extension ObjectSnapshot {
  /// Creates a snapshot for a new object, with the model's default values. Applying it inserts an object.
  ///
  /// - Parameters:
  ///   - entityName: The entity.
  ///   - model: The model of the contexts to which the snapshot will be applied.
  /// - Throws: ``ModelValidationError`` with the issues of the model; ``StoreError`` with ``StoreError/Code/invalidRequest`` if the entity
  ///   does not exist or is abstract.
  public init(entityName: String, model: ManagedObjectModel) throws {
    let compiled = try CompiledModel.compiling(model)
    guard let entity = compiled.entity(named: entityName) else {
      throw StoreError(.unknownEntity(entityName, known: compiled.entities.map(\.name)), operation: .takeSnapshot)
    }
    if entity.isAbstract { throw StoreError(.abstractEntity(entityName), operation: .insert) }
    self.init(newObjectOf: entity, space: ObjectIDSpace.register(storeIdentifier: nil, model: compiled).number)
  }

  private init(newObjectOf entity: CompiledEntity, space: UInt32) {
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: 0, version: 0)
    for index in entity.slotsWithDefaults where entity.slots[index].kind != .none && !entity.slots[index].isDerived {
      writer.set(entity.slots[index].defaultValue, at: index)
    }
    self.init(writer.endRow(), of: entity, space: space)
  }

  /// Returns the distinct members in a defined order: their own for an ordered relationship, else by store, entity and key.
  static func ordered(_ ids: some Sequence<ManagedObjectID>, of relationship: CompiledRelationship) -> [ManagedObjectID] {
    var seen = Set<ManagedObjectID>()
    let distinct = ids.filter { seen.insert($0).inserted }
    if relationship.isOrdered { return distinct }
    return distinct.sorted { ($0.space, $0.entityNumber, $0.key) < ($1.space, $1.entityNumber, $1.key) }
  }
}
