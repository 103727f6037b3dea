// ManagedObjectModel: everything that exists, a plain value.

/// A model: the entities that exist, how they relate, and named subsets of them.
///
/// ```swift
/// let model = ManagedObjectModel {
///   Entity("Book") {
///     Attribute("title", .string).required()
///     Relationship("author", to: "Author", inverse: "books")
///   }
///   Entity("Author") {
///     Attribute("name", .string)
///     Relationship("books", toMany: "Book", inverse: "author")
///   }
/// }
/// ```
///
/// A model also comes out of an `.xcdatamodeld` (``VersionedModel``, ``init(contentsOf:strict:)``) and out of classes. A model is a value. A container or coordinator
/// compiles a copy of its own, so that later changes of yours have no effect on it. It throws ``ModelValidationError`` with every mistake of the model;
/// ``validationIssues()`` lists them before.
public struct ManagedObjectModel: Sendable, Hashable {
  /// The entities.
  public var entities: [EntityDescription]
  /// The kinds of composite values that attributes name.
  public var composites: [CompositeDescription] = []
  /// Named subsets of the entities.
  public var configurations: [ModelConfiguration] = []
  /// Named fetch requests.
  public var fetchRequestTemplates: [FetchRequestTemplate] = []
  /// What the application calls this version of the model.
  public var versionIdentifiers: Set<String> = []
  /// Notes of the application.
  public var userInfo: [String: String] = [:]
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes a model of entities.
  public init(entities: [EntityDescription] = []) {
    self.entities = entities
  }

  /// The entity of a name; nil when there is none. Linear in the number of entities.
  public func entity(named name: String) -> EntityDescription? {
    entities.first { $0.name == name }
  }

  /// The kind of composite value of a name; nil when there is none.
  public func composite(named name: String) -> CompositeDescription? { composites.first { $0.name == name } }

  /// The fetch request template of a name; nil when there is none.
  public func fetchRequestTemplate(named name: String) -> FetchRequestTemplate? { fetchRequestTemplates.first { $0.name == name } }

  /// Puts entities, properties, indexes and the other parts in the order of their names, properties of one kind together: the order of Apple's editor.
  /// The order of a constraint's properties, an index's elements and a composite's parts stays. Version hashes do not depend on it.
  public mutating func sortByName() {
    for index in entities.indices {
      // Attributes, relationships, fetched properties.
      let kinds = Dictionary(grouping: entities[index].properties) { property in
        switch property {
        case .attribute: 0
        case .relationship: 1
        case .fetchedProperty: 2
        }
      }
      entities[index].properties = (0...2).flatMap { (kinds[$0] ?? []).sorted { $0.name.precedes($1.name) } }
      entities[index].indexes.sort { $0.name.precedes($1.name) }
    }
    entities.sort { $0.name.precedes($1.name) }
    composites.sort { $0.name.precedes($1.name) }
    configurations.sort { $0.name.precedes($1.name) }
    for index in configurations.indices { configurations[index].entityNames.sort { $0.precedes($1) } }
    fetchRequestTemplates.sort { $0.name.precedes($1.name) }
  }

  /// The entities by name. If two have one name, validation reports it and the first stands here.
  public var entitiesByName: [String: EntityDescription] {
    Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}

extension String {
  /// The order of names by their UTF-8 bytes, which no locale or Unicode version changes.
  fileprivate func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

/// A named subset of a model's entities; a store opened with it holds only those.
public struct ModelConfiguration: Sendable, Hashable {
  /// The configuration's name.
  public var name: String
  /// The names of its entities.
  public var entityNames: [String]
  /// Whether the model file marks it for mirroring.
  public var usedWithCloudKit = false
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes a configuration.
  public init(name: String, entityNames: [String]) {
    self.name = name
    self.entityNames = entityNames
  }
}
