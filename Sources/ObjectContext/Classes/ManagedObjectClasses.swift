package import ObjectModel
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

/// The class of each entity's objects, by entity number, and the entity of each class.
package struct EntityClasses: ~Copyable {
  private let model: CompiledModel
  private let classes: ManagedObjectClasses
  private let types: [ManagedObject.Type]
  private let needWorkWhenFired: [Bool]
  /// A cache of the entities of classes, indexed by a hash of the class's address. Most callers create objects of only a few classes.
  private var known = [(type: ObjectIdentifier, entity: CompiledEntity)?](repeating: nil, count: 16)

  package init(_ classes: ManagedObjectClasses, of model: CompiledModel) {
    (self.model, self.classes) = (model, classes)
    types = model.entities.map { classes.type(of: $0.name) ?? ManagedObject.self }
    needWorkWhenFired = model.entities.map { !$0.transientSlotsWithDefaults.isEmpty || !$0.largeSlots.isEmpty }
  }

  @inline(__always) package func type(ofEntity number: Int) -> ManagedObject.Type { types[number] }

  /// Returns whether firing a fault of an entity takes more than using the row in place: the entity has transient attributes with default
  /// values, or attributes whose values may be stored outside the row.
  ///
  /// Called for each fault; does not access the entity itself.
  @inline(__always) package func needsWorkWhenFired(entity number: Int) -> Bool { needWorkWhenFired[number] }

  /// Returns the entity of a class, or `nil` if the class is not in the table.
  package mutating func entity(of type: ManagedObject.Type) -> CompiledEntity? {
    let identifier = ObjectIdentifier(type)
    let index = Int((UInt64(UInt(bitPattern: identifier)) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    if let found = known[index], found.type == identifier { return found.entity }
    guard let name = classes.entityName(of: type), let entity = model.entity(named: name) else { return nil }
    known[index] = (identifier, entity)
    return entity
  }
}

/// The names of generated properties by Swift key path, for the classes of one model. Generated code fills the table.
public struct KeyPathNames: Sendable {
  // Key paths of plain properties capture nothing and are safe to share; in Swift 5 mode the compiler does not treat them as `Sendable`.
  private struct Property: @unchecked Sendable {
    let name: String
    let keyPath: AnyKeyPath
    /// The property of an optional object, with which a path through a to-one relationship continues.
    let continued: AnyKeyPath
  }
  /// The properties by the root types of their key paths.
  private var starting: [ObjectIdentifier: [Property]] = [:]
  /// The properties by the root types of their continued key paths.
  private var continuing: [ObjectIdentifier: [Property]] = [:]

  /// Creates an empty table.
  public init() {}

  /// Adds a property of a class, or a part of a composite: `names.add(\Book.title, \Book?.?.title, "title")`.
  ///
  /// - Parameters:
  ///   - keyPath: The key path from an object. It must consist of properties only: a subscript could capture a value that is not
  ///     `Sendable`.
  ///   - continued: The key path from an optional object.
  ///   - name: The property's name in the model.
  public mutating func add(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath, _ name: String) {
    let property = Property(name: name, keyPath: keyPath, continued: continued)
    starting[ObjectIdentifier(type(of: keyPath).rootType), default: []].append(property)
    continuing[ObjectIdentifier(type(of: continued).rootType), default: []].append(property)
  }

  /// Adds the `id` of a class that declares its entity, if `id` is the object's ID and not a property of the class itself.
  public mutating func addIdentity(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath) {
    guard type(of: keyPath).valueType == ManagedObjectID.self else { return }
    add(keyPath, continued, "objectID")
  }

  /// The maximum length of a path, and the maximum number of paths to try.
  private static let (maximumLength, maximumCount) = (4, 20_000)

  /// Returns the keys of a key path, or `nil` if a component is not a generated property.
  package func keys(of keyPath: AnyKeyPath) -> [String]? {
    guard let properties = starting[ObjectIdentifier(type(of: keyPath).rootType)] else { return nil }
    if let property = properties.first(where: { $0.keyPath == keyPath }) { return [property.name] }
    // The components of a key path cannot be inspected, so all paths are constructed until one matches. Appended paths are not equal to
    // literal ones, but have the same hash value.
    let (hash, value) = (keyPath.hashValue, ObjectIdentifier(type(of: keyPath).valueType))
    var ends = properties.map { (keyPath: $0.keyPath, keys: [$0.name]) }
    var count = 0
    for _ in 1..<KeyPathNames.maximumLength {
      var longer: [(keyPath: AnyKeyPath, keys: [String])] = []
      for end in ends {
        let reached = ObjectIdentifier(type(of: end.keyPath).valueType)
        // A required composite attribute is not optional.
        let next = continuing[reached]?.map { ($0, $0.continued) } ?? starting[reached]?.map { ($0, $0.keyPath) } ?? []
        for (property, step) in next {
          count += 1
          guard count <= KeyPathNames.maximumCount, let path = end.keyPath.appending(path: step) else { return nil }
          let keys = end.keys + [property.name]
          if path.hashValue == hash, ObjectIdentifier(type(of: path).valueType) == value { return keys }
          longer.append((path, keys))
        }
      }
      ends = longer
    }
    return nil
  }
}
