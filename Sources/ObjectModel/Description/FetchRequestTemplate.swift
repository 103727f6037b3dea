/// A named fetch request of a model, with `$VARIABLE` placeholders in its predicate.
///
/// ```swift
/// let cheap: FetchRequest<Book> = try model.fetchRequest(fromTemplate: "cheap", substitutionVariables: ["LIMIT": 10])
/// ```
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  public var name: String
  /// The name of the entity to fetch.
  public var entityName: String
  /// The predicate, in format language.
  public var predicateFormat: String?
  /// The maximum number of results; 0 for no limit.
  public var fetchLimit = 0
  /// The number of rows to read together; 0 for all at once.
  public var fetchBatchSize = 0
  /// The type of the results.
  public var resultType = FetchResultType.objects
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// Whether rows are read with their property values.
  public var includesPropertyValues = true
  /// Whether unsaved changes of the context are included.
  public var includesPendingChanges = true
  /// Whether objects are returned as faults.
  public var returnsObjectsAsFaults = true
  /// Whether duplicate dictionaries are removed.
  public var returnsDistinctResults = false
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a template.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - entityName: The name of the entity to fetch.
  ///   - predicateFormat: The predicate, in format language; nil for all objects.
  public init(name: String, entityName: String, predicateFormat: String? = nil) {
    self.name = name
    self.entityName = entityName
    self.predicateFormat = predicateFormat
  }
}

/// The type of a fetch's results. `FetchRequest` derives it from its result type.
public enum FetchResultType: String, Sendable, Hashable, Codable {
  /// Managed objects.
  case objects
  /// Object IDs.
  case objectIDs
  /// Dictionaries of selected properties.
  case dictionaries
  /// The number of results: objects, or dictionaries if groups, aggregates or distinct results reduce their number.
  case count
}
