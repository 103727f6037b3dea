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
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes a fetched property.
  ///
  /// - Parameters:
  ///   - name: The property's name.
  ///   - destination: The entity of the objects.
  ///   - predicateFormat: Which objects are fetched, in format language; nil for all.
  public init(name: String, destination: String, predicateFormat: String? = nil) {
    self.name = name
    destinationEntityName = destination
    self.predicateFormat = predicateFormat
  }
}
