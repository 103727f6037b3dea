// NSCompositeAttributeDescription: attributes that are several values, as objects.
public import Foundation
import ObjectModel

/// An attribute that is several values, each with a name: a dictionary, whose parts predicates and sort descriptors name by `home.city`.
public final class NSCompositeAttributeDescription: NSAttributeDescription {
  /// The parts: attributes, other composites among them.
  public var elements: [NSAttributeDescription] = []
  /// The name that the model has for the kind of value, as it was read.
  private let knownKind: String?
  /// What the names of kinds begin with that have none yet: the entity, or the composite that this one is a part of.
  private var surroundings: String?

  /// A composite without a name and parts.
  public override init() {
    knownKind = nil
    super.init()
    attributeType = .compositeAttributeType
  }

  init(_ attribute: AttributeDescription, _ composites: [CompositeDescription]) {
    knownKind = attribute.compositeName
    super.init(attribute)
    // A model that is to be checked yet may lead in circles.
    let others = composites.filter { $0.name != knownKind }
    let parts = composites.first { $0.name == knownKind }?.elements ?? []
    elements = parts.compactMap { NSPropertyDescription.make(.attribute($0), of: nil, others) as? NSAttributeDescription }
  }

  /// The attribute by itself, as one that no entity has yet.
  public override func copy(with zone: NSZone? = nil) -> Any {
    var known: [CompositeDescription] = []
    note(in: &known)
    return Self.make(value, of: nil, known)
  }

  private var kind: String { knownKind ?? "\(surroundings ?? entity.name ?? "")_\(name)" }

  override var value: PropertyDescription {
    guard case .attribute(var attribute) = super.value else { return super.value }
    attribute.compositeName = kind
    return .attribute(attribute)
  }

  /// Writes what its parts are among a model's composites.
  func note(in composites: inout [CompositeDescription]) {
    for case let part as NSCompositeAttributeDescription in elements {
      part.surroundings = kind
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
