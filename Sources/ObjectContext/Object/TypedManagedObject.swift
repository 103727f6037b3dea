public import ObjectQuery

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
