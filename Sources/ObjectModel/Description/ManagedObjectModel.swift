/// A model: entities, their relationships, and named subsets of them.
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
/// A model can also be read from an `.xcdatamodeld` (``VersionedModel``, ``init(contentsOf:strict:)``) or derived from classes. A model is
/// a value: containers and coordinators compile their own copy, so later changes do not affect them. They throw ``ModelValidationError``
/// with all issues of an invalid model; ``validationIssues()`` lists them in advance.
public struct ManagedObjectModel: Sendable, Hashable {
  /// The entities.
  public var entities: [EntityDescription]
  /// The composite types, to which attributes refer by name.
  public var composites: [CompositeDescription] = []
  /// Named subsets of the entities.
  public var configurations: [ModelConfiguration] = []
  /// Named fetch requests.
  public var fetchRequestTemplates: [FetchRequestTemplate] = []
  /// Identifiers by which the application names this version of the model.
  public var versionIdentifiers: Set<String> = []
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a model from entities.
  public init(entities: [EntityDescription] = []) {
    self.entities = entities
  }

  /// Returns the entity with a name; nil if there is none.
  ///
  /// - Complexity: O(*n*) in the number of entities.
  public func entity(named name: String) -> EntityDescription? {
    entities.first { $0.name == name }
  }

  /// Returns the composite type with a name; nil if there is none.
  public func composite(named name: String) -> CompositeDescription? { composites.first { $0.name == name } }

  /// Returns the fetch request template with a name; nil if there is none.
  public func fetchRequestTemplate(named name: String) -> FetchRequestTemplate? { fetchRequestTemplates.first { $0.name == name } }

  /// Sorts entities, properties, indexes and the other parts by name, with properties grouped by kind, as Apple's editor does. The order of
  /// a constraint's properties, an index's elements and a composite's parts stays unchanged. Version hashes do not depend on the order.
  public mutating func sortByName() {
    for index in entities.indices {
      // Order of kinds: attributes, relationships, fetched properties.
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

  /// The entities by name. If two entities have the same name, which is a validation issue, contains the first.
  public var entitiesByName: [String: EntityDescription] {
    Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}

extension String {
  /// Orders names by their UTF-8 bytes, independently of locale and Unicode version.
  fileprivate func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

/// A named subset of a model's entities. A store that is opened with it holds only those entities.
public struct ModelConfiguration: Sendable, Hashable {
  /// The configuration's name.
  public var name: String
  /// The names of the entities.
  public var entityNames: [String]
  /// Whether the model file marks the configuration for mirroring.
  public var usedWithCloudKit = false
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a configuration.
  public init(name: String, entityNames: [String]) {
    self.name = name
    self.entityNames = entityNames
  }
}
