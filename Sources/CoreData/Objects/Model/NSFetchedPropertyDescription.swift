import Foundation
import ObjectModel

/// A property that is what a request finds, which may name the object by `$FETCH_SOURCE`.
public final class NSFetchedPropertyDescription: NSPropertyDescription {
  /// The fetch request. Only its entity and predicate are used.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?
  private let original: FetchedPropertyDescription

  /// Creates a fetched property without a name.
  public override init() { original = FetchedPropertyDescription(name: "", destination: "") }

  init(_ property: FetchedPropertyDescription) {
    original = property
    super.init()
    name = property.name
    isOptional = property.isOptional
    userInfo = property.userInfo
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: property.destinationEntityName)
    request.predicate = property.predicateFormat.map { NSPredicate(format: $0) }
    fetchRequest = request
  }

  override var value: PropertyDescription {
    var property = original
    property.name = name
    property.isOptional = isOptional
    property.userInfo = notes
    property.destinationEntityName = fetchRequest?.entityName ?? ""
    property.predicateFormat = fetchRequest?.predicate?.predicateFormat
    return .fetchedProperty(property)
  }
}
