// FetchedPropertyDescription: a weak link computed by a fetch.

/// A read-only property computed by a fetch.
public struct FetchedPropertyDescription: Sendable, Hashable {
  /// The property's name.
  public var name: String
  /// Whether the property is optional.
  public var isOptional = true
  /// The name of the entity that is fetched.
  public var destinationEntityName: String
  /// The predicate in format language, with `$FETCH_SOURCE` for the owner.
  public var predicateFormat: String?
  /// Notes of the application.
  public var userInfo: [String: String] = [:]
  /// What a model file said beyond the above.
  public var preserved = PreservedXML()

  /// Makes a fetched property.
  public init(name: String, destination: String, predicateFormat: String? = nil) {
    self.name = name
    destinationEntityName = destination
    self.predicateFormat = predicateFormat
  }
}

/// A named fetch request of a model, with `$VARIABLE` holes in its predicate.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  public var name: String
  /// The name of the entity that is fetched.
  public var entityName: String
  /// The predicate in format language.
  public var predicateFormat: String?
  /// The greatest number of results; 0 for no bound.
  public var fetchLimit = 0
  /// Rows a batch; 0 for all at once.
  public var fetchBatchSize = 0
  /// What a model file said beyond the above.
  public var preserved = PreservedXML()

  /// Makes a template.
  public init(name: String, entityName: String, predicateFormat: String? = nil) {
    self.name = name
    self.entityName = entityName
    self.predicateFormat = predicateFormat
  }
}
