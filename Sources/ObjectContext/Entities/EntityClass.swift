// EntityClass: a class that declares its entity itself: what the macro @Entity makes of a class.
public import ObjectModel
public import ObjectQuery
import Synchronization

/// A class that declares its entity in Swift: what `@Entity` of the package trait `Macros` makes of a class.
///
/// A model of such classes is made of the classes: `ManagedObjectModel(Book.self, Author.self)`. They are also ``TypedManagedObject`` and
/// `FetchKeyPathNaming`, which ask nothing more of them.
public protocol EntityClass: ManagedObject {
  /// The name of the entity.
  static var _declaredEntityName: String { get }
  /// The entity. An inverse that only the other class names is not in it; a model of both has it.
  static var entityDescription: EntityDescription { get }
  /// The classes that relationships and fetched properties lead to, and the superclass if it declares an entity.
  static var _relatedClasses: [any EntityClass.Type] { get }
  /// The structs of the composite attributes, without inherited ones.
  static var _relatedComposites: [any EntityComposite.Type] { get }
  /// Adds the properties that the class declares, and those it inherits, to a table, for a class below or the class itself.
  static func _addKeyPaths(to names: inout _KeyPathNames)
}

extension EntityClass where Self: Identifiable {
  /// The object's ID; a class may have an `id` of its own instead.
  public var id: ManagedObjectID { objectID }
}

extension TypedManagedObject where Self: EntityClass {
  /// The classes of the last model made with the class; before any was made, those that relationships and superclasses lead to.
  public static var classTable: ManagedObjectClasses { EntityTables.table(of: self) }
}

extension FetchKeyPathNaming where Self: EntityClass {
  /// The keys of a key path, for typed queries.
  public static func _fetchKeys(of keyPath: AnyKeyPath) -> [String]? { EntityTables.table(of: self).keys(of: keyPath) }
}

/// Where the properties that a class adds begin: after those of its superclass. For `@Entity`.
public struct _EntityLayout: Sendable {
  /// The number of slots of the class, inherited ones included.
  public let slots: Int
  /// The number of to-many relationships, inherited ones included.
  public let toMany: Int

  /// A layout with properties behind another's.
  ///
  /// - Parameters:
  ///   - other: The layout of the superclass; nil where there is none.
  ///   - slots: How many slots the class's own properties take.
  ///   - toMany: How many to-many relationships the class has itself.
  public init(after other: _EntityLayout? = nil, slots: Int, toMany: Int) {
    self.slots = (other?.slots ?? 0) + slots
    self.toMany = (other?.toMany ?? 0) + toMany
  }
}

extension ManagedObjectModel {
  /// The model of classes that declare their entities, and of those that relationships, fetched properties and superclasses lead to.
  ///
  /// An inverse need be named on one side only. Mistakes are reported when the model is compiled, or by ``validationIssues()``.
  ///
  /// - Parameters:
  ///   - version: What the application calls this version of the model; nil for nothing.
  ///   - first: A class.
  ///   - more: The others; those that nothing leads to, such as subclasses, have to be named.
  ///   - parts: What else the model has: a `Configuration`, a `FetchTemplate`, an `Entity` without a class.
  public init(
    version: String? = nil, _ first: any EntityClass.Type, _ more: any EntityClass.Type...,
    @ModelBuilder adding parts: () -> [any ModelComponent] = { [] }
  ) {
    self.init(version: version, entityClasses: [first] + more, adding: parts)
  }

  /// The model of classes that declare their entities. See ``init(version:_:_:adding:)``.
  ///
  /// - Parameters:
  ///   - version: The version identifier of the model.
  ///   - classes: The classes of the entities, and by their relationships the others.
  ///   - parts: What no class says: composites, configurations, fetch templates.
  public init(
    version: String? = nil, entityClasses classes: [any EntityClass.Type], @ModelBuilder adding parts: () -> [any ModelComponent] = { [] }
  ) {
    let all = EntityTables.closure(of: classes)
    self = EntityTables.model(of: all)
    if let version { versionIdentifiers = [version] }
    for part in parts() { part._add(to: &self) }
    EntityTables.register(all, model: self)
  }
}

extension ManagedObjectClasses {
  /// The table of classes that declare their entities, and of those that relationships, fetched properties and superclasses lead to.
  public init(_ first: any EntityClass.Type, _ more: any EntityClass.Type...) { self.init(entityClasses: [first] + more) }

  /// The table of classes that declare their entities, and of those that relationships, fetched properties and superclasses lead to.
  public init(entityClasses classes: [any EntityClass.Type]) {
    let all = EntityTables.closure(of: classes)
    self = EntityTables.register(all, model: EntityTables.model(of: all))
  }
}

/// The tables of the classes that declare their entities, one for each model that was made of them.
enum EntityTables {
  private static let tables = Mutex<[ObjectIdentifier: ManagedObjectClasses]>([:])

  /// The table of a class.
  static func table(of type: any EntityClass.Type) -> ManagedObjectClasses {
    if let known = tables.withLock({ $0[ObjectIdentifier(type)] }) { return known }
    return ManagedObjectClasses(entityClasses: [type])
  }

  /// The table of a kind of composite value: of its own parts only, where no class was seen yet.
  static func table(of type: any EntityComposite.Type) -> ManagedObjectClasses {
    if let known = tables.withLock({ $0[ObjectIdentifier(type)] }) { return known }
    return ManagedObjectClasses(_layouts: [:]) {
      var names = _KeyPathNames()
      for composite in closure(ofComposites: [type]) { composite._addKeyPaths(to: &names) }
      return names
    }
  }

  /// The model of classes that lead to no others.
  static func model(of classes: [any EntityClass.Type]) -> ManagedObjectModel {
    var model = ManagedObjectModel(entities: linked(classes.map { $0.entityDescription }))
    model.composites = composites(of: classes).map { $0.compositeDescription }
    return model
  }

  /// Makes the table of classes, which is theirs from now on.
  @discardableResult
  static func register(_ classes: [any EntityClass.Type], model: ManagedObjectModel) -> ManagedObjectClasses {
    // A model with mistakes opens no store; its classes fit none.
    let compiled = try? CompiledModel(model)
    var types: [String: ManagedObject.Type] = [:]
    var layouts: [String: UInt64] = [:]
    for type in classes {
      types[type._declaredEntityName] = type
      layouts[type._declaredEntityName] = compiled?.entity(named: type._declaredEntityName)?.layoutFingerprint ?? 0
    }
    let composites = composites(of: classes)
    let made = ManagedObjectClasses(types, _layouts: layouts) {
      var names = _KeyPathNames()
      for type in classes { type._addKeyPaths(to: &names) }
      for type in composites { type._addKeyPaths(to: &names) }
      return names
    }
    tables.withLock { tables in
      for type in classes { tables[ObjectIdentifier(type)] = made }
      for type in composites { tables[ObjectIdentifier(type)] = made }
    }
    return made
  }

  /// Classes and those that they lead to, each once, in the order in which they are met.
  static func closure(of classes: [any EntityClass.Type]) -> [any EntityClass.Type] {
    closure(of: classes, id: { ObjectIdentifier($0) }, next: { $0._relatedClasses })
  }

  private static func composites(of classes: [any EntityClass.Type]) -> [any EntityComposite.Type] {
    closure(ofComposites: classes.flatMap { $0._relatedComposites })
  }

  /// Kinds of composite values and those within them, each once, in the order in which they are met.
  private static func closure(ofComposites composites: [any EntityComposite.Type]) -> [any EntityComposite.Type] {
    closure(of: composites, id: { ObjectIdentifier($0) }, next: { $0._relatedComposites })
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

  /// Entities whose inverses are named on both sides.
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
