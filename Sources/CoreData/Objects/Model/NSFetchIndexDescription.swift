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
public final class NSFetchIndexElementDescription: NSObject, NSCopying {
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

  private init(_ other: NSFetchIndexElementDescription) {
    (property, original) = (other.property, other.original)
    (collationType, isAscending) = (other.collationType, other.isAscending)
  }

  /// The element by itself.
  public func copy(with zone: NSZone? = nil) -> Any { NSFetchIndexElementDescription(self) }

  /// The index that it is an element of; nil where it is none of any.
  public internal(set) weak var indexDescription: NSFetchIndexDescription?

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
public final class NSFetchIndexDescription: NSObject, NSCopying {
  /// The name.
  public var name: String
  /// The elements.
  public var elements: [NSFetchIndexElementDescription] {
    didSet { join() }
  }
  /// Which objects the index is of; nil for all.
  public var partialIndexPredicate: NSPredicate?
  /// The entity that the index is of; nil for one that was made in code.
  public private(set) weak var entity: NSEntityDescription?

  /// An index of elements.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    (self.name, self.elements) = (name, elements ?? [])
    super.init()
    join()
  }

  /// The index by itself, with copies of its elements.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSFetchIndexDescription(name: name, elements: elements.compactMap { $0.copy() as? NSFetchIndexElementDescription })
    copy.partialIndexPredicate = partialIndexPredicate
    return copy
  }

  private func join() { for element in elements { element.indexDescription = self } }

  init(_ index: FetchIndexDescription, of entity: NSEntityDescription) {
    name = index.name
    elements = index.elements.map { NSFetchIndexElementDescription($0, of: entity) }
    partialIndexPredicate = index.partialIndexPredicate.map { NSPredicate(format: $0) }
    self.entity = entity
    super.init()
    join()
  }

  var value: FetchIndexDescription {
    FetchIndexDescription(name: name, elements: elements.map(\.value), partialIndexPredicate: partialIndexPredicate?.predicateFormat)
  }
}
