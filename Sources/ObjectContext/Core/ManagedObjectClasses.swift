import ObjectModel
import Synchronization

/// A table of the classes of each entity's objects. Generated code creates one for each model.
///
/// ```swift
/// var classes = ManagedObjectClasses()
/// classes.register(Book.self, forEntityName: "Book")
/// ```
///
/// Creating a container throws ``ModelValidationError`` if the classes were generated for another version of the model, since property
/// reads cannot detect the difference.
public struct ManagedObjectClasses: Sendable {
  private var types: [String: ManagedObject.Type] = [:]
  private var names: [ObjectIdentifier: String] = [:]
  private var layouts: [String: UInt64] = [:]
  private let keyPaths: KeyPathTable

  /// Creates a table of classes by entity name.
  public init(_ types: [String: ManagedObject.Type] = [:]) { self.init(types, layouts: [:]) { KeyPathNames() } }

  /// Creates a table of generated classes.
  ///
  /// - Parameters:
  ///   - types: The classes, by entity name.
  ///   - layouts: The ``CompiledEntity/layoutFingerprint`` of each entity whose class uses literal slot numbers.
  ///   - keyPathNames: Creates the table of property names by Swift key path. It is called when the table is first needed.
  @_spi(Generated) public init(
    _ types: [String: ManagedObject.Type] = [:], layouts: [String: UInt64],
    keyPathNames: @escaping @Sendable () -> KeyPathNames
  ) {
    keyPaths = KeyPathTable(make: keyPathNames)
    for (name, type) in types { register(type, forEntityName: name) }
    self.layouts = layouts
  }

  /// Sets the class of an entity's objects.
  public mutating func register(_ type: ManagedObject.Type, forEntityName name: String) {
    types[name] = type
    names[ObjectIdentifier(type)] = name
  }

  /// Returns the class of an entity's objects, or `nil` if they are plain ``ManagedObject`` instances.
  public func type(of entityName: String) -> ManagedObject.Type? { types[entityName] }

  /// Returns the name of the entity of a class, or `nil` if the class is not registered.
  public func entityName(of type: ManagedObject.Type) -> String? { names[ObjectIdentifier(type)] }

  /// Returns the names of the entities whose class is the given class or a subclass of it.
  func entityNames<Class: ManagedObject>(below type: Class.Type) -> [String] {
    types.filter { $0.value is Class.Type }.keys.sorted()
  }

  /// Returns the model's keys for a Swift key path, or `nil` if the path does not consist of generated properties.
  func keys(of keyPath: AnyKeyPath) -> [String]? { keyPaths.names.keys(of: keyPath) }

  /// Returns whether a class is the class of an entity and was generated for the entity's slots.
  func fits(_ type: ManagedObject.Type, _ entity: CompiledEntity) -> Bool { types[entity.name] == type && fits(entity) }

  /// Returns whether an entity has the properties that its class was generated for.
  func fits(_ entity: CompiledEntity) -> Bool { (layouts[entity.name] ?? entity.layoutFingerprint) == entity.layoutFingerprint }

  /// Returns an issue for each class whose literal slot numbers do not match the model.
  func issues(with model: CompiledModel) -> [ModelIssue] {
    layouts.sorted { $0.key < $1.key }.compactMap { name, layout in
      guard let entity = model.entity(named: name), entity.layoutFingerprint != layout else { return nil }
      return ModelIssue(entityName: name, reason: "the class was generated for other properties than the model has; generate it again")
    }
  }
}

/// A key-path table that is created on first use.
private final class KeyPathTable: Sendable {
  private let make: @Sendable () -> KeyPathNames
  private let made = Mutex<KeyPathNames?>(nil)

  init(make: @escaping @Sendable () -> KeyPathNames) { self.make = make }

  var names: KeyPathNames {
    made.withLock { made in
      let names = made ?? make()
      made = names
      return names
    }
  }
}
