// NSFetchIndexDescription: indexes of entities as objects.
public import Foundation
import ObjectModel

/// How an index keeps an element.
public enum NSFetchIndexElementType: UInt, Sendable {
  /// In order.
  case binary
  /// As intervals.
  case rTree
}

/// An element of an index: a property.
public final class NSFetchIndexElementDescription: NSObject {
  /// The property.
  public let property: NSPropertyDescription?
  /// How the index keeps it.
  public var collationType: NSFetchIndexElementType
  /// Whether the least comes first.
  public var isAscending = true
  private let original: FetchIndexElement

  /// An element of a property.
  public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
    (self.property, self.collationType) = (property, collationType)
    original = FetchIndexElement(property: property.name)
  }

  init(_ element: FetchIndexElement, of entity: NSEntityDescription) {
    original = element
    property = element.propertyName.flatMap { entity.propertiesByName[$0] }
    collationType = element.kind == .rtree ? .rTree : .binary
    isAscending = element.isAscending
  }

  /// The property's name; nil for an expression.
  public var propertyName: String? { property?.name ?? original.propertyName }

  var value: FetchIndexElement {
    var element = original
    if let property { element.propertyName = property.name }
    element.isAscending = isAscending
    if collationType == .rTree { element.kind = .rtree } else if element.kind == .rtree { element.kind = .binary }
    return element
  }
}

/// An index of an entity.
public final class NSFetchIndexDescription: NSObject {
  /// The name.
  public var name: String
  /// The elements.
  public var elements: [NSFetchIndexElementDescription]
  /// Which objects the index is of; nil for all.
  public var partialIndexPredicate: NSPredicate?
  /// The entity that the index is of; nil for one that was made in code.
  public private(set) weak var entity: NSEntityDescription?

  /// An index of elements.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) { (self.name, self.elements) = (name, elements ?? []) }

  init(_ index: FetchIndexDescription, of entity: NSEntityDescription) {
    name = index.name
    elements = index.elements.map { NSFetchIndexElementDescription($0, of: entity) }
    partialIndexPredicate = index.partialIndexPredicate.map { NSPredicate(format: $0) }
    self.entity = entity
  }

  var value: FetchIndexDescription {
    FetchIndexDescription(name: name, elements: elements.map(\.value), partialIndexPredicate: partialIndexPredicate?.predicateFormat)
  }
}
