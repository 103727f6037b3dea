// ManagedKey: the name of a managed property, and where its value lies.
import ObjectContext
import ObjectModel
import Synchronization

/// The name of a managed property. It keeps where the value lies in the rows of the first entity that is asked.
public struct _ManagedKey: ~Copyable, Sendable {
  let name: String
  private let place = AtomicLazyReference<Place>()

  /// The key of a property.
  public init(_ name: String) { self.name = name }

  /// Where a property lies in the rows of entities of one layout.
  final class Place: Sendable {
    let layout: UInt64
    let property: CompiledProperty?
    /// The slot of an attribute; -1 for anything else.
    let slot: Int
    let type: AttributeType?

    init(_ entity: CompiledEntity, _ name: String) {
      layout = entity.layoutFingerprint
      property = entity.property(named: name)
      if case .attribute(let attribute) = property {
        (slot, type) = (attribute.index, attribute.attributeType)
      } else {
        (slot, type) = (-1, nil)
      }
    }
  }

  /// The slot of an attribute of a type in an entity; -1 where the property is something else. Every read asks it.
  func slot(in entity: CompiledEntity, of type: AttributeType) -> Int {
    if let place = place.load(), place.layout == entity.layoutFingerprint { return place.type == type ? place.slot : -1 }
    let found = Place(entity, name)
    _ = place.storeIfNil(found)
    return found.type == type ? found.slot : -1
  }

  /// The property in an entity.
  func property(in entity: CompiledEntity) -> CompiledProperty? {
    if let place = place.load(), place.layout == entity.layoutFingerprint { return place.property }
    let found = Place(entity, name)
    _ = place.storeIfNil(found)
    return found.property
  }
}
