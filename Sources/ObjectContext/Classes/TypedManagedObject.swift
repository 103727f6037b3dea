import ObjectModel
public import ObjectQuery
import ObjectStore

/// A class generated for an entity. Its class table maps it to the entity.
public protocol TypedManagedObject: ManagedObject {
  /// The class table of the model that the class belongs to.
  static var classTable: ManagedObjectClasses { get }
}

extension TypedManagedObject {
  /// The name of the class's entity.
  public static var entityName: String { classTable.entityName(of: self) ?? "\(self)" }

  /// Returns a request for all objects of the class's entity and its subentities.
  public static func fetchRequest() -> FetchRequest<Self> { FetchRequest(entityName: entityName) }

  /// Returns the model's property names along a key path.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for a key path of anything but generated properties.
  static func keys(of keyPath: PartialKeyPath<Self>) throws(FetchPredicateError) -> [String] {
    if let keys = classTable.keys(of: keyPath) { return keys }
    throw .unsupported(
      part: "The key path \(keyPath.debugDescription)", advice: "Use the properties that were generated from the model.")
  }
}

// MARK: - Inserting objects of a class

extension ManagedObject {
  /// Returns the entity of a model if this class can create objects of it.
  static func instantiableEntity(named name: String, of model: CompiledModel) throws(StoreError) -> CompiledEntity {
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

extension StoreError.Reason {
  static func otherClass(entity: String, className name: String) -> Self {
    Self(
      .invalidRequest,
      "Objects of the entity “\(entity)” are not of the class \(name) in this context. Register \(name) for the entity in the ManagedObjectClasses that the container is created with, or use the entity's own class.",
      entity: entity)
  }

  /// The reason why a class is unknown to a context.
  enum UnknownClass {
    case notRegistered, ofOtherModel, tableNotGiven
  }

  static func unknownClass(_ name: String, _ why: UnknownClass) -> Self {
    let advice =
      switch why {
      case .notRegistered:
        "Register it in the ManagedObjectClasses that the container is created with, or insert objects by entity name."
      case .ofOtherModel:
        "It was generated for another model than the context's: create the container with makeContainer of the class's own model."
      case .tableNotGiven:
        "Create the container with makeContainer of the generated model, or pass PersistentContainer the argument `classes: \(name).classTable`."
      }
    return Self(.invalidRequest, "This context has no entity for the class \(name). \(advice)")
  }
}
