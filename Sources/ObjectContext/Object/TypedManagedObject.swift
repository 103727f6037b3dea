// TypedManagedObject: a class that was generated for an entity.
public import ObjectQuery

/// A class that was generated for an entity: it knows the classes of its model, and so the entity it stands for.
public protocol TypedManagedObject: ManagedObject {
  /// The classes of the model that the class belongs to.
  static var classTable: ManagedObjectClasses { get }
}

extension TypedManagedObject {
  /// The name of the entity whose objects are of this class.
  public static var entityName: String { classTable.entityName(of: self) ?? "\(self)" }

  /// A request for all objects of the class's entity, those of subentities included.
  public static func fetchRequest() -> FetchRequest<Self> { FetchRequest(entityName: entityName) }

  /// The keys of the model that a key path leads through.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for one that leads elsewhere.
  static func keys(of keyPath: PartialKeyPath<Self>) throws(FetchPredicateError) -> [String] {
    if let keys = classTable.keys(of: keyPath) { return keys }
    throw .unsupported(
      part: "The key path \(keyPath.debugDescription)", advice: "Use the properties that were generated from the model.")
  }
}
