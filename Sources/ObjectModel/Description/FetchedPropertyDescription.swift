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
