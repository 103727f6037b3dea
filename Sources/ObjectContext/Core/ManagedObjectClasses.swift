// ManagedObjectClasses: which class the objects of each entity have.

import ObjectModel
import Synchronization

/// Which class the objects of each entity have. Generated code makes one for each model; by hand it is a table by entity names.
///
/// ```swift
/// var classes = ManagedObjectClasses()
/// classes.register(Book.self, forEntityName: "Book")
/// ```
///
/// Making a container throws ``ModelValidationError`` for classes that were generated for another version of the model: reading a property
/// never finds out.
public struct ManagedObjectClasses: Sendable {
  private var types: [String: ManagedObject.Type] = [:]
  private var names: [ObjectIdentifier: String] = [:]
  private var layouts: [String: UInt64] = [:]
  private let keyPaths: KeyPathTable

  /// A table of classes by entity name.
  public init(_ types: [String: ManagedObject.Type] = [:]) { self.init(types, _layouts: [:]) { _KeyPathNames() } }

  /// The table of generated classes.
  ///
  /// - Parameters:
  ///   - types: The classes.
  ///   - layouts: The ``CompiledEntity/layoutFingerprint`` of the entities whose classes have literal slot numbers.
  ///   - keyPathNames: Makes the table of the names of the properties that Swift key paths lead to; it is called when it is needed first.
  public init(
    _ types: [String: ManagedObject.Type] = [:], _layouts layouts: [String: UInt64],
    _keyPathNames keyPathNames: @escaping @Sendable () -> _KeyPathNames
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

  /// The class of an entity's objects; nil for ``ManagedObject``.
  public func type(of entityName: String) -> ManagedObject.Type? { types[entityName] }

  /// The entity of a class.
  public func entityName(of type: ManagedObject.Type) -> String? { names[ObjectIdentifier(type)] }

  /// The entities whose objects are of a class or of one below it, by name.
  func entityNames<Class: ManagedObject>(below type: Class.Type) -> [String] {
    types.filter { $0.value is Class.Type }.keys.sorted()
  }

  /// The keys of the model that a Swift key path leads through; nil when it is none of generated properties.
  func keys(of keyPath: AnyKeyPath) -> [String]? { keyPaths.names.keys(of: keyPath) }

  /// Whether a class is that of an entity's objects, and reads the entity's slots.
  func fits(_ type: ManagedObject.Type, _ entity: CompiledEntity) -> Bool { types[entity.name] == type && fits(entity) }

  /// Whether an entity has the properties that its class was written for.
  func fits(_ entity: CompiledEntity) -> Bool { (layouts[entity.name] ?? entity.layoutFingerprint) == entity.layoutFingerprint }

  /// The mistakes of using the table with a model: classes whose literal slot numbers would read other properties than they mean.
  func issues(with model: CompiledModel) -> [ModelIssue] {
    layouts.sorted { $0.key < $1.key }.compactMap { name, layout in
      guard let entity = model.entity(named: name), entity.layoutFingerprint != layout else { return nil }
      return ModelIssue(entityName: name, reason: "the class was generated for other properties than the model has; generate it again")
    }
  }
}

/// The names of key paths, made when they are needed first.
private final class KeyPathTable: Sendable {
  private let make: @Sendable () -> _KeyPathNames
  private let made = Mutex<_KeyPathNames?>(nil)

  init(make: @escaping @Sendable () -> _KeyPathNames) { self.make = make }

  var names: _KeyPathNames {
    made.withLock { made in
      let names = made ?? make()
      made = names
      return names
    }
  }
}
