import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Inserts a new object of a class's entity with its default values. Unlike ``ManagedObject/init(context:)``, it throws if it fails.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if the class is not in the context's class table, or its entity is
  ///   abstract.
  @discardableResult
  public func insertObject<Object: ManagedObject>(_ type: Object.Type) throws -> Object {
    let entity = try knownEntity(ofClass: type, operation: .insert)
    if entity.isAbstract { throw abstractEntity(entity.name) }
    let object = Object(ManagedObjectSeed(newObjectOf: entity, in: self))
    registerInserted(object)
    return object
  }

  /// Returns the entity of a class.
  ///
  /// - Throws: ``StoreError`` that explains how to register the class.
  func knownEntity(ofClass type: ManagedObject.Type, operation: StoreOperation) throws(StoreError) -> CompiledEntity {
    if let name = classes.entityName(of: type), let entity = model.entity(named: name) { return entity }
    throw StoreError(unknownEntityReason(type), operation: operation)
  }

  /// Returns why a class has no entity in this context, and how to register it.
  func unknownEntityReason(_ type: ManagedObject.Type) -> StoreError.Reason {
    guard let typed = type as? any TypedManagedObject.Type else { return .unknownClass("\(type)", .notRegistered) }
    let table = typed.classTable
    guard let name = table.entityName(of: type), model.entity(named: name) != nil, table.issues(with: model).isEmpty else {
      return .unknownClass("\(type)", .ofOtherModel)
    }
    return .unknownClass("\(type)", .tableNotGiven)
  }
}
