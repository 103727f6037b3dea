// EntityDescription: a kind of object.

/// An entity of a model: a kind of object with its properties. It is a value; ``ManagedObjectModel/entities`` has those of a model.
///
/// ```swift
/// var entity = EntityDescription(name: "Book", superentity: "Item")
/// entity.properties.append(.attribute(AttributeDescription(name: "title", type: .string)))
/// ```
public struct EntityDescription: Sendable, Hashable {
  /// The entity's name, unique in its model.
  public var name: String
  /// The name of the class of its objects; nil for `ManagedObject`. A leading `.` stands for the current module.
  public var managedObjectClassName: String?
  /// The name of the entity it inherits from; nil for a root.
  public var superentityName: String?
  /// Whether it has no objects of its own.
  public var isAbstract: Bool
  /// The properties it declares, without inherited ones.
  public var properties: [PropertyDescription]
  /// The indexes it declares.
  public var indexes: [FetchIndexDescription] = []
  /// Lists of property names for which a model of before 2017 asks for an index each; see `effectiveIndexes`.
  public var compoundIndexes: [[String]] = []
  /// Lists of property names whose values identify an object.
  public var uniquenessConstraints: [[String]] = []
  /// How typed classes are generated.
  public var codeGeneration = CodeGenerationType.manual
  /// The expression of the name that system search shows for an object, in format language. It is for an indexer of the application's own: the library has
  /// none.
  public var coreSpotlightDisplayNameExpression: String?
  /// What the entity was called in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash when nothing else does.
  public var versionHashModifier: String?
  /// Notes of the application.
  public var userInfo: [String: String] = [:]
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes an entity.
  ///
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - superentity: The name of the entity that it inherits from.
  ///   - isAbstract: Whether there are no objects of the entity itself.
  ///   - managedObjectClassName: The name of the class of its objects.
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

  /// The attributes it declares.
  public var attributes: [AttributeDescription] {
    properties.compactMap { if case .attribute(let attribute) = $0 { attribute } else { nil } }
  }
  /// The relationships it declares.
  public var relationships: [RelationshipDescription] {
    properties.compactMap { if case .relationship(let relationship) = $0 { relationship } else { nil } }
  }
  /// The indexes that a store builds: those that are declared, and those that older models ask for by ``AttributeDescription/isIndexed`` and
  /// ``compoundIndexes``, under the names that Core Data's editor gives them. Nothing is built twice.
  package var effectiveIndexes: [FetchIndexDescription] {
    let asked = attributes.filter { $0.isIndexed && $0.type.isComparable && !$0.isTransient }.map { [$0.name] } + compoundIndexes
    if asked.isEmpty { return indexes }
    var result = indexes
    for names in asked where !names.isEmpty {
      let index = FetchIndexDescription(
        name: "by" + names.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "And") + "Index",
        elements: names.map { FetchIndexElement(property: $0) })
      let isThere = result.contains {
        $0.name == index.name || $0.partialIndexPredicate == nil && $0.elements.map(\.withoutPreserved) == index.elements
      }
      if !isThere { result.append(index) }
    }
    return result
  }
  /// The fetched properties it declares.
  public var fetchedProperties: [FetchedPropertyDescription] {
    properties.compactMap { if case .fetchedProperty(let property) = $0 { property } else { nil } }
  }
}

/// How typed classes of an entity are generated. The raw value is the name used in model files.
public enum CodeGenerationType: String, Sendable, Hashable {
  /// Nothing is generated: the application writes the class.
  case manual = ""
  /// The class with its properties.
  case classDefinition = "class"
  /// An extension with the properties, beside a class that the application writes.
  case category = "category"
}
