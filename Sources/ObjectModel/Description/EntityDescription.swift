/// An entity of a ``ManagedObjectModel``: a type of object with its properties.
///
/// ```swift
/// var entity = EntityDescription(name: "Book", superentity: "Item")
/// entity.properties.append(.attribute(AttributeDescription(name: "title", type: .string)))
/// ```
public struct EntityDescription: Sendable, Hashable {
  /// The entity's name, unique in its model.
  public var name: String
  /// The class name of its objects; nil for `ManagedObject`. A leading `.` means the current module.
  public var managedObjectClassName: String?
  /// The name of the superentity; nil for a root.
  public var superentityName: String?
  /// Whether the entity is abstract and has no objects of its own.
  public var isAbstract: Bool
  /// The declared properties, without inherited ones.
  public var properties: [PropertyDescription]
  /// The declared indexes.
  public var indexes: [FetchIndexDescription] = []
  /// Lists of property names for which a model from before 2017 requests indexes; see `effectiveIndexes`.
  public var compoundIndexes: [[String]] = []
  /// Lists of property names whose combined values must be unique.
  public var uniquenessConstraints: [[String]] = []
  /// The generation mode of typed classes.
  public var codeGeneration = CodeGenerationType.manual
  /// The expression, in format language, of an object's display name in system search. For an indexer of the application; the library has
  /// none.
  public var coreSpotlightDisplayNameExpression: String?
  /// The name of the entity in an earlier version of the model. After several renamings, use the first name: it identifies the entity in
  /// all stores, those created with this version and those migrated to it.
  public var renamingIdentifier: String?
  /// A string that changes the version hash, even if nothing else changes.
  public var versionHashModifier: String?
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates an entity.
  ///
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - superentity: The name of the superentity.
  ///   - isAbstract: Whether the entity is abstract.
  ///   - managedObjectClassName: The class name of its objects.
  ///   - properties: Its own properties, in order.
  public init(
    name: String, superentity: String? = nil, isAbstract: Bool = false, managedObjectClassName: String? = nil,
    properties: [PropertyDescription] = []
  ) {
    self.name = name
    self.superentityName = superentity
    self.isAbstract = isAbstract
    self.managedObjectClassName = managedObjectClassName
    self.properties = properties
  }

  /// The declared attributes.
  public var attributes: [AttributeDescription] {
    properties.compactMap { if case .attribute(let attribute) = $0 { attribute } else { nil } }
  }
  /// The declared relationships.
  public var relationships: [RelationshipDescription] {
    properties.compactMap { if case .relationship(let relationship) = $0 { relationship } else { nil } }
  }
  /// The indexes that a store builds: the declared ones, and those that older models request through ``AttributeDescription/isIndexed`` and
  /// ``compoundIndexes``, named as by Core Data's editor. Duplicates are omitted.
  package var effectiveIndexes: [FetchIndexDescription] {
    let requested = attributes.filter { $0.isIndexed && $0.type.isComparable && !$0.isTransient }.map { [$0.name] } + compoundIndexes
    if requested.isEmpty { return indexes }
    var result = indexes
    for names in requested where !names.isEmpty {
      let index = FetchIndexDescription(
        name: "by" + names.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "And") + "Index",
        elements: names.map { FetchIndexElement(property: $0) })
      let isIncluded = result.contains {
        $0.name == index.name || $0.partialIndexPredicate == nil && $0.elements.map(\.withoutPreserved) == index.elements
      }
      if !isIncluded { result.append(index) }
    }
    return result
  }
  /// The declared fetched properties.
  public var fetchedProperties: [FetchedPropertyDescription] {
    properties.compactMap { if case .fetchedProperty(let property) = $0 { property } else { nil } }
  }
}

/// The generation mode of an entity's typed class. The raw value is the name used in model files.
public enum CodeGenerationType: String, Sendable, Hashable {
  /// Generates nothing: the application defines the class.
  case manual = ""
  /// Generates the class with its properties.
  case classDefinition = "class"
  /// Generates an extension with the properties, for a class that the application defines.
  case category = "category"
}

/// A property of an entity.
public indirect enum PropertyDescription: Sendable, Hashable {
  /// A value.
  case attribute(AttributeDescription)
  /// A reference to one or several objects.
  case relationship(RelationshipDescription)
  /// A read-only list computed by a fetch.
  case fetchedProperty(FetchedPropertyDescription)

  /// The property's name.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .fetchedProperty(let property): property.name
    }
  }
}

/// A read-only property computed by a fetch.
public struct FetchedPropertyDescription: Sendable, Hashable {
  /// The property's name.
  public var name: String
  /// Whether the property is optional.
  public var isOptional = true
  /// The name of the entity to fetch.
  public var destinationEntityName: String
  /// The predicate, in format language, with `$FETCH_SOURCE` for the owner.
  public var predicateFormat: String?
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a fetched property.
  ///
  /// - Parameters:
  ///   - name: The property's name.
  ///   - destination: The name of the entity to fetch.
  ///   - predicateFormat: The predicate, in format language; nil for all objects.
  public init(name: String, destination: String, predicateFormat: String? = nil) {
    self.name = name
    destinationEntityName = destination
    self.predicateFormat = predicateFormat
  }
}
