// ManagedKey: the name of a managed property, and where its value lies.
import ObjectContext
import ObjectModel
public import Synchronization

/// The name of a managed property. It keeps where the value lies in the rows of the first layout that is asked, since every read asks.
@frozen public struct _ManagedKey: ~Copyable, Sendable {
  @usableFromInline let name: String
  /// The layout's fingerprint; 0 as long as none was asked.
  @usableFromInline let layout = Atomic<UInt64>(0)
  /// The slot of an attribute of the property's type there; -1 where the property is something else.
  @usableFromInline let slot = Atomic<Int>(Self.unknown)

  @usableFromInline static var unknown: Int { @inlinable get { -2 } }

  /// The key of a property.
  @inlinable public init(_ name: String) { self.name = name }

  /// The slot in a layout; nil where it is not kept.
  @inlinable @inline(__always) func slot(in fingerprint: UInt64) -> Int? {
    layout.load(ordering: .acquiring) == fingerprint ? slot.load(ordering: .relaxed) : nil
  }

  /// The slot of an attribute of a type in an entity; -1 where the property is something else.
  func findSlot(in entity: CompiledEntity, of type: AttributeType) -> Int {
    var found = -1
    if case .attribute(let attribute) = entity.property(named: name), attribute.attributeType == type { found = attribute.index }
    // Whoever is first keeps the place: the slot is there before the layout says so.
    if slot.compareExchange(expected: Self.unknown, desired: found, ordering: .relaxed).exchanged {
      layout.store(entity.layoutFingerprint, ordering: .releasing)
    }
    return found
  }

  /// The property in an entity.
  func property(in entity: CompiledEntity) -> CompiledProperty? { entity.property(named: name) }
}
