public import Foundation
import ObjectModel

/// An attribute whose value is a dictionary of named elements. Predicates and sort descriptors refer to the elements by key paths such as
/// `home.city`.
public final class NSCompositeAttributeDescription: NSAttributeDescription {
  /// The elements: attributes and other composites.
  public var elements: [NSAttributeDescription] = []
  /// The name of the composite type in the model that was read.
  private let storedKind: String?
  /// The prefix for generated names of composite types: the entity, or the enclosing composite.
  private var enclosingKind: String?

  /// Creates an empty composite without a name.
  public override init() {
    storedKind = nil
    super.init()
    attributeType = .compositeAttributeType
  }

  init(_ attribute: AttributeDescription, _ composites: [CompositeDescription]) {
    storedKind = attribute.compositeName
    super.init(attribute)
    // A model that was not validated may contain cycles.
    let others = composites.filter { $0.name != storedKind }
    let parts = composites.first { $0.name == storedKind }?.elements ?? []
    elements = parts.compactMap { NSPropertyDescription.make(.attribute($0), of: nil, others) as? NSAttributeDescription }
  }

  /// Returns a copy that belongs to no entity.
  public override func copy(with zone: NSZone? = nil) -> Any {
    var known: [CompositeDescription] = []
    note(in: &known)
    return Self.make(value, of: nil, known)
  }

  private var kind: String { storedKind ?? "\(enclosingKind ?? entity.name ?? "")_\(name)" }

  override var value: PropertyDescription {
    guard case .attribute(var attribute) = super.value else { return super.value }
    attribute.compositeName = kind
    return .attribute(attribute)
  }

  /// Adds the composite's definition to a model's composites.
  func note(in composites: inout [CompositeDescription]) {
    for case let part as NSCompositeAttributeDescription in elements {
      part.enclosingKind = kind
      part.note(in: &composites)
    }
    let parts = elements.compactMap { if case .attribute(let attribute) = $0.value { attribute } else { nil } }
    if let place = composites.firstIndex(where: { $0.name == kind }) {
      composites[place].elements = parts
    } else {
      composites.append(CompositeDescription(name: kind, elements: parts))
    }
  }
}
