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
