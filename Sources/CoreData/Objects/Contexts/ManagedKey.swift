public import CProcessor
import ObjectContext
import ObjectModel
public import Synchronization

/// The name of a managed property, with a cached location of its value.
///
/// Every read needs the location. The key caches it for the entity and store of the object accessed last, and for the first layout
/// accessed, which serves other stores and entities.
@_spi(Generated) @frozen public struct ManagedKey: ~Copyable, Sendable {
  @usableFromInline let name: String
  /// The entity and ID space of the last object, as in ``ObjectContext/ManagedObject/entityKey``, and in the lower 16 bits the slot of the
  /// attribute. All 16 bits are set if the property is not an attribute of its type.
  @usableFromInline let place = Atomic<UInt64>(Self.nowhere)
  /// The fingerprint of the cached layout; 0 if none is cached.
  @usableFromInline let layout = Atomic<UInt64>(0)
  /// The slot in the cached layout; -1 if the property is not an attribute of its type.
  @usableFromInline let slot = Atomic<Int>(Self.unknown)

  @usableFromInline static var unknown: Int { @inlinable get { -2 } }
  /// The initial value, which matches no object.
  @usableFromInline static var nowhere: UInt64 { @inlinable get { .max } }

  /// Creates a key for a property.
  @inlinable public init(_ name: String) { self.name = name }

  /// Returns the cached slot; nil if another location is cached.
  @inlinable @inline(__always) func slot(at object: UInt64) -> Int? {
    // Reading through C avoids a retain of each object in loops.
    let place = withUnsafePointer(to: place) { cipherdata_relaxed_word($0) }
    return place & ~0xFFFF == object ? Int(Int16(truncatingIfNeeded: place)) : nil
  }

  /// Returns the slot of an attribute of a type in an entity; -1 if the property is something else.
  func findSlot(in entity: CompiledEntity, fingerprint: UInt64, of type: AttributeType) -> Int {
    if layout.load(ordering: .acquiring) == fingerprint { return slot.load(ordering: .relaxed) }
    var found = -1
    if case .attribute(let attribute) = entity.property(named: name), attribute.attributeType == type { found = attribute.index }
    // The first thread sets the layout. The slot is stored before the fingerprint.
    if slot.compareExchange(expected: Self.unknown, desired: found, ordering: .relaxed).exchanged {
      layout.store(fingerprint, ordering: .releasing)
    }
    return found
  }

  /// Caches the slot for a location. Slots are numbered below 32,768, so they fit.
  func keep(_ slot: Int, at object: UInt64) { place.store(object | UInt64(UInt16(truncatingIfNeeded: slot)), ordering: .relaxed) }

  /// Returns the property in an entity.
  func property(in entity: CompiledEntity) -> CompiledProperty? { entity.property(named: name) }
}
