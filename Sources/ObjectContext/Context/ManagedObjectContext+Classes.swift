// ManagedObjectContext+Classes: the entities of classes, and what to do where a class is not in the context's table.
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Inserts a new object of a class's entity, with its default values, as ``ManagedObject/init(context:)`` does, but throws what is wrong.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` when the class is not in the context's class table, or its entity is abstract.
  @discardableResult
  public func insertObject<Object: ManagedObject>(_ type: Object.Type) throws -> Object {
    let entity = try knownEntity(ofClass: type, operation: .insert)
    if entity.isAbstract { throw abstractEntity(entity.name) }
    let object = Object(ManagedObjectSeed(newObjectOf: entity, in: self))
    registerInserted(object)
    return object
  }

  /// The entity of a class.
  ///
  /// - Throws: ``StoreError`` that names the call which is missing.
  func knownEntity(ofClass type: ManagedObject.Type, operation: StoreOperation) throws(StoreError) -> CompiledEntity {
    if let name = classes.entityName(of: type), let entity = model.entity(named: name) { return entity }
    throw StoreError(whyUnknown(type), operation: operation)
  }

  /// Why a class is not known here, and which call is missing.
  func whyUnknown(_ type: ManagedObject.Type) -> StoreError.Reason {
    guard let typed = type as? any TypedManagedObject.Type else { return .unknownClass("\(type)", .notRegistered) }
    let table = typed.classTable
    guard let name = table.entityName(of: type), model.entity(named: name) != nil, table.issues(with: model).isEmpty else {
      return .unknownClass("\(type)", .ofOtherModel)
    }
    return .unknownClass("\(type)", .tableNotGiven)
  }
}
