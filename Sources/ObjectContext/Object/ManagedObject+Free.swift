// ManagedObject+Free: objects made without a context.
public import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// Makes a new object without a context, with its default values, or inserts it into one; ``ManagedObjectContext/insert(_:)`` does that later.
  ///
  /// ```swift
  /// let draft = try Book(entity: bookEntity, of: container.persistentStoreCoordinator)
  /// draft.title = "Emma"
  /// context.insert(draft)
  /// ```
  ///
  /// Without a context the object has attributes only: relationships can be set once it has one.
  ///
  /// - Parameters:
  ///   - entity: An entity of the coordinator's model.
  ///   - coordinator: The coordinator of the contexts that the object may be inserted into.
  ///   - context: The context it is inserted into; nil for none yet.
  /// - Throws: ``StoreError`` where the coordinator's model has no such entity, the entity is abstract, or the class is another entity's.
  public convenience init(
    entity: EntityDescription, of coordinator: PersistentStoreCoordinator, insertInto context: ManagedObjectContext? = nil
  ) throws {
    let entity = try Self.instantiableEntity(named: entity.name, of: coordinator.compiledModel)
    self.init(ManagedObjectSeed(newObjectOf: entity, of: coordinator))
    become(newOf: entity, in: context)
  }

  /// The entity of a model that the class makes objects of, whose slots it knows.
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
