public import Foundation
import ObjectModel

/// The structure of an index element.
public enum NSFetchIndexElementType: UInt, Sendable {
  /// A sorted B-tree.
  case binary
  /// An R-tree of intervals.
  case rTree
}

/// An element of an index.
public final class NSFetchIndexElementDescription: NSObject, NSCopying {
  /// The indexed property.
  public let property: NSPropertyDescription?
  /// The structure of the element.
  public var collationType: NSFetchIndexElementType
  /// Whether the element is sorted in ascending order.
  public var isAscending = true
  private let original: FetchIndexElement

  /// Creates an element for a property.
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

  /// Returns a copy that belongs to no index.
  public func copy(with zone: NSZone? = nil) -> Any { NSFetchIndexElementDescription(self) }

  /// The index of the element, if any.
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
  /// The index's name.
  public var name: String
  /// The elements of the index.
  public var elements: [NSFetchIndexElementDescription] {
    didSet { join() }
  }
  /// The predicate of a partial index; nil to index all objects.
  public var partialIndexPredicate: NSPredicate?
  /// The entity of the index; nil if the index was created in code.
  public private(set) weak var entity: NSEntityDescription?

  /// Creates an index of elements.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    (self.name, self.elements) = (name, elements ?? [])
    super.init()
    join()
  }

  /// Returns a copy with copies of its elements, which belongs to no entity.
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
