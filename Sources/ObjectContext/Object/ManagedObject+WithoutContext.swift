public import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// Creates an object with its default values, and inserts it into a context if one is given. ``ManagedObjectContext/insert(_:)`` inserts
  /// it later.
  ///
  /// ```swift
  /// let draft = try Book(entity: bookEntity, of: container.persistentStoreCoordinator)
  /// draft.title = "Emma"
  /// context.insert(draft)
  /// ```
  ///
  /// Without a context, only attributes can be set, not relationships.
  ///
  /// - Parameters:
  ///   - entity: An entity of the coordinator's model.
  ///   - coordinator: The coordinator of the contexts into which the object can be inserted.
  ///   - context: The context to insert the object into; nil for none.
  /// - Throws: ``StoreError`` if the coordinator's model has no such entity, if the entity is abstract, or if the class belongs to another
  ///   entity.
  public convenience init(
    entity: EntityDescription, of coordinator: PersistentStoreCoordinator, insertInto context: ManagedObjectContext? = nil
  ) throws {
    let entity = try Self.instantiableEntity(named: entity.name, of: coordinator.compiledModel)
    self.init(ManagedObjectSeed(newObjectOf: entity, of: coordinator))
    become(newOf: entity, in: context)
  }

  /// Returns the entity of a model if this class can create objects of it.
  private static func instantiableEntity(named name: String, of model: CompiledModel) throws(StoreError) -> CompiledEntity {
    guard let entity = model.entity(named: name) else {
      throw StoreError(.unknownEntity(name, known: model.entities.map(\.name)), operation: .insert)
    }
    if entity.isAbstract { throw StoreError(.abstractEntity(name), operation: .insert) }
    if let typed = self as? any TypedManagedObject.Type, !typed.classTable.fits(self, entity) {
      throw StoreError(.otherClass(entity: name, className: "\(self)"), operation: .insert)
    }
    return entity
  }
}
