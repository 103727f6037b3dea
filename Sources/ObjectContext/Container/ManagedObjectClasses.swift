// ManagedObjectClasses: which class the objects of each entity have.

/// Which class the objects of each entity have. Generated code makes one for each model.
public struct ManagedObjectClasses: Sendable {
  private var types: [String: ManagedObject.Type] = [:]
  private var names: [ObjectIdentifier: String] = [:]

  /// A table of classes by entity name.
  public init(_ types: [String: ManagedObject.Type] = [:]) {
    for (name, type) in types { register(type, forEntityName: name) }
  }

  /// Sets the class of an entity's objects.
  public mutating func register(_ type: ManagedObject.Type, forEntityName name: String) {
    types[name] = type
    names[ObjectIdentifier(type)] = name
  }

  /// The class of an entity's objects; nil for ``ManagedObject``.
  public func type(of entityName: String) -> ManagedObject.Type? { types[entityName] }

  /// The entity of a class.
  public func entityName(of type: ManagedObject.Type) -> String? { names[ObjectIdentifier(type)] }
}
