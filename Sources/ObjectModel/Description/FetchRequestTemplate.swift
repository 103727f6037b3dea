// FetchRequestTemplate: a named fetch request of a model.

/// A named fetch request of a model, with `$VARIABLE` holes in its predicate.
///
/// ```swift
/// let cheap: FetchRequest<Book> = try model.fetchRequest(fromTemplate: "cheap", substitutionVariables: ["LIMIT": 10])
/// ```
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  public var name: String
  /// The name of the entity that is fetched.
  public var entityName: String
  /// The predicate in format language.
  public var predicateFormat: String?
  /// The greatest number of results; 0 for no bound.
  public var fetchLimit = 0
  /// How many rows are read together; 0 for all at once.
  public var fetchBatchSize = 0
  /// What is returned.
  public var resultType = FetchResultType.objects
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// Whether rows are read with their values.
  public var includesPropertyValues = true
  /// Whether a context's unsaved changes count.
  public var includesPendingChanges = true
  /// Whether objects are returned as faults.
  public var returnsObjectsAsFaults = true
  /// Whether equal dictionaries are returned once.
  public var returnsDistinctResults = false
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes a template.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - entityName: The entity of the objects.
  ///   - predicateFormat: Which objects are fetched, in format language; nil for all.
  public init(name: String, entityName: String, predicateFormat: String? = nil) {
    self.name = name
    self.entityName = entityName
    self.predicateFormat = predicateFormat
  }
}
