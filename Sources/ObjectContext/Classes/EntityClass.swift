@_spi(Generated) public import ObjectModel
public import ObjectQuery
import Synchronization

/// A class that declares its entity in Swift. The macro `@Entity`, from the package trait `Macros`, adds this conformance.
///
/// Create a model from such classes: `ManagedObjectModel(Book.self, Author.self)`. They also conform to ``TypedManagedObject`` and
/// `FetchKeyPathNaming`, which add no further requirements.
public protocol EntityClass: ManagedObject {
  /// The name of the entity.
  static var declaredEntityName: String { get }
  /// The entity. An inverse that only the destination's class declares is missing here; a model that contains both classes has it.
  static var entityDescription: EntityDescription { get }
  /// The destination classes of relationships and fetched properties, and the superclass if it declares an entity.
  static var relatedClasses: [any EntityClass.Type] { get }
  /// The structs of the composite attributes, without inherited ones.
  static var relatedComposites: [any EntityComposite.Type] { get }
  /// Adds the declared and inherited properties of the class to a table. It is called for the class itself and by its subclasses.
  static func addKeyPaths(to names: inout KeyPathNames)
}

extension EntityClass where Self: Identifiable {
  /// The object's ID. A class can declare its own `id` instead.
  public var id: ManagedObjectID { objectID }
}

extension TypedManagedObject where Self: EntityClass {
  /// The class table of the last model that was created with the class. Before that, the table of the class and the classes that
  /// relationships and superclasses refer to.
  public static var classTable: ManagedObjectClasses { EntityTables.table(of: self) }
}

extension FetchKeyPathNaming where Self: EntityClass {
  /// Returns the model keys of a key path, for typed queries.
  public static func fetchKeys(of keyPath: AnyKeyPath) -> [String]? { EntityTables.table(of: self).keys(of: keyPath) }
}

/// The number of inherited and own properties of a class, from which `@Entity` derives slot numbers.
public struct EntityLayout: Sendable {
  /// The number of slots of the class, including inherited ones.
  public let slots: Int
  /// The number of to-many relationships of the class, including inherited ones.
  public let toMany: Int

  /// Creates the layout of a class whose properties follow those of its superclass.
  ///
  /// - Parameters:
  ///   - other: The layout of the superclass; `nil` if there is none.
  ///   - slots: The number of slots of the class's own properties.
  ///   - toMany: The number of the class's own to-many relationships.
  public init(after other: EntityLayout? = nil, slots: Int, toMany: Int) {
    self.slots = (other?.slots ?? 0) + slots
    self.toMany = (other?.toMany ?? 0) + toMany
  }
}

extension ManagedObjectModel {
  /// Creates a model from classes that declare their entities, and from the classes that their relationships, fetched properties and
  /// superclasses refer to.
  ///
  /// An inverse needs to be declared on one side only. Issues are reported when the model is compiled, or by ``validationIssues()``.
  ///
  /// - Parameters:
  ///   - version: The application's identifier for this version of the model, or `nil`.
  ///   - first: A class.
  ///   - more: Further classes. Classes that no other class refers to, such as subclasses, must be listed.
  ///   - parts: Other parts of the model: a `Configuration`, a `FetchTemplate`, or an `Entity` without a class.
  public init(
    version: String? = nil, _ first: any EntityClass.Type, _ more: any EntityClass.Type...,
    @ModelBuilder adding parts: () -> [any ModelComponent] = { [] }
  ) {
    self.init(version: version, entityClasses: [first] + more, adding: parts)
  }

  /// Creates a model from classes that declare their entities. See ``init(version:_:_:adding:)``.
  ///
  /// - Parameters:
  ///   - version: The application's identifier for this version of the model, or `nil`.
  ///   - classes: The classes. Classes that their relationships refer to are included.
  ///   - parts: Parts of the model that no class declares: configurations, fetch templates, entities without a class.
  public init(
    version: String? = nil, entityClasses classes: [any EntityClass.Type], @ModelBuilder adding parts: () -> [any ModelComponent] = { [] }
  ) {
    let all = EntityTables.closure(of: classes)
    self = EntityTables.model(of: all)
    if let version { versionIdentifiers = [version] }
    for part in parts() { part.add(to: &self) }
    EntityTables.register(all, model: self)
  }
}

extension ManagedObjectClasses {
  /// Creates the table of classes that declare their entities, and of the classes that their relationships, fetched properties and
  /// superclasses refer to.
  public init(_ first: any EntityClass.Type, _ more: any EntityClass.Type...) { self.init(entityClasses: [first] + more) }

  /// Creates the table of classes that declare their entities, and of the classes that their relationships, fetched properties and
  /// superclasses refer to.
  public init(entityClasses classes: [any EntityClass.Type]) {
    let all = EntityTables.closure(of: classes)
    self = EntityTables.register(all, model: EntityTables.model(of: all))
  }
}

/// The class tables of the models that were created from classes, by class.
enum EntityTables {
  private static let tables = Mutex<[ObjectIdentifier: ManagedObjectClasses]>([:])

  /// Returns the table of a class.
  static func table(of type: any EntityClass.Type) -> ManagedObjectClasses {
    if let known = tables.withLock({ $0[ObjectIdentifier(type)] }) { return known }
    return ManagedObjectClasses(entityClasses: [type])
  }

  /// Returns the table of a composite type. If no model with it was created yet, the table contains only the type's own parts.
  static func table(of type: any EntityComposite.Type) -> ManagedObjectClasses {
    if let known = tables.withLock({ $0[ObjectIdentifier(type)] }) { return known }
    return ManagedObjectClasses(layouts: [:]) {
      var names = KeyPathNames()
      for composite in closure(ofComposites: [type]) { composite.addKeyPaths(to: &names) }
      return names
    }
  }

  /// Creates the model of a complete set of classes.
  static func model(of classes: [any EntityClass.Type]) -> ManagedObjectModel {
    var model = ManagedObjectModel(entities: linked(classes.map { $0.entityDescription }))
    model.composites = composites(of: classes).map { $0.compositeDescription }
    return model
  }

  /// Creates the table of classes and registers it for each of them.
  @discardableResult
  static func register(_ classes: [any EntityClass.Type], model: ManagedObjectModel) -> ManagedObjectClasses {
    // A model with issues opens no store. With a layout of 0, the classes match no model.
    let compiled = try? CompiledModel(model)
    var types: [String: ManagedObject.Type] = [:]
    var layouts: [String: UInt64] = [:]
    for type in classes {
      types[type.declaredEntityName] = type
      layouts[type.declaredEntityName] = compiled?.entity(named: type.declaredEntityName)?.layoutFingerprint ?? 0
    }
    let composites = composites(of: classes)
    let made = ManagedObjectClasses(types, layouts: layouts) {
      var names = KeyPathNames()
      for type in classes { type.addKeyPaths(to: &names) }
      for type in composites { type.addKeyPaths(to: &names) }
      return names
    }
    tables.withLock { tables in
      for type in classes { tables[ObjectIdentifier(type)] = made }
      for type in composites { tables[ObjectIdentifier(type)] = made }
    }
    return made
  }

  /// Returns classes and the classes they refer to, without duplicates, in the order of discovery.
  static func closure(of classes: [any EntityClass.Type]) -> [any EntityClass.Type] {
    closure(of: classes, id: { ObjectIdentifier($0) }, next: { $0.relatedClasses })
  }

  private static func composites(of classes: [any EntityClass.Type]) -> [any EntityComposite.Type] {
    closure(ofComposites: classes.flatMap { $0.relatedComposites })
  }

  /// Returns composite types and those they contain, without duplicates, in the order of discovery.
  private static func closure(ofComposites composites: [any EntityComposite.Type]) -> [any EntityComposite.Type] {
    closure(of: composites, id: { ObjectIdentifier($0) }, next: { $0.relatedComposites })
  }

  private static func closure<Kind>(of start: [Kind], id: (Kind) -> ObjectIdentifier, next: (Kind) -> [Kind]) -> [Kind] {
    var result: [Kind] = []
    var seen: Set<ObjectIdentifier> = []
    var waiting = start
    while !waiting.isEmpty {
      let new = waiting.filter { seen.insert(id($0)).inserted }
      result += new
      waiting = new.flatMap(next)
    }
    return result
  }

  /// Returns entities with the inverses completed that only the other side declares.
  static func linked(_ entities: [EntityDescription]) -> [EntityDescription] {
    var inverses: [[String]: String] = [:]
    for entity in entities {
      for relationship in entity.relationships {
        if let inverse = relationship.inverseName { inverses[[relationship.destinationEntityName, inverse]] = relationship.name }
      }
    }
    return entities.map { entity in
      var entity = entity
      entity.properties = entity.properties.map { property in
        guard case .relationship(var relationship) = property, relationship.inverseName == nil else { return property }
        relationship.inverseName = inverses[[entity.name, relationship.name]]
        return .relationship(relationship)
      }
      return entity
    }
  }
}
