// ManagedKey: the name of a managed property, and where its value lies.
public import CProcessor
import ObjectContext
import ObjectModel
public import Synchronization

/// The name of a managed property. It keeps where the value of the object that was asked last lies, since every read asks: in the rows of that object's
/// entity and store; and where it lies in the first layout that was asked, for the other stores and entities.
@frozen public struct _ManagedKey: ~Copyable, Sendable {
  @usableFromInline let name: String
  /// The entity and the space of an object, as ``ObjectContext/ManagedObject/_place`` has them, and in the lower 16 bits the slot of an attribute of the
  /// property's type there; all of these bits are set where the property is something else.
  @usableFromInline let place = Atomic<UInt64>(Self.nowhere)
  /// The layout's fingerprint; 0 as long as none was asked.
  @usableFromInline let layout = Atomic<UInt64>(0)
  /// The slot there; -1 where the property is something else than an attribute of its type.
  @usableFromInline let slot = Atomic<Int>(Self.unknown)

  @usableFromInline static var unknown: Int { @inlinable get { -2 } }
  /// No object is there.
  @usableFromInline static var nowhere: UInt64 { @inlinable get { .max } }

  /// The key of a property.
  @inlinable public init(_ name: String) { self.name = name }

  /// The slot at a place; nil where another place was asked last.
  @inlinable @inline(__always) func slot(at object: UInt64) -> Int? {
    // As C reads it, so that a loop need not keep each object alive for it.
    let place = withUnsafePointer(to: place) { cipherdata_relaxed_word($0) }
    return place & ~0xFFFF == object ? Int(Int16(truncatingIfNeeded: place)) : nil
  }

  /// The slot of an attribute of a type in an entity; -1 where the property is something else.
  func findSlot(in entity: CompiledEntity, fingerprint: UInt64, of type: AttributeType) -> Int {
    if layout.load(ordering: .acquiring) == fingerprint { return slot.load(ordering: .relaxed) }
    var found = -1
    if case .attribute(let attribute) = entity.property(named: name), attribute.attributeType == type { found = attribute.index }
    // Whoever is first keeps the place: the slot is there before the layout says so.
    if slot.compareExchange(expected: Self.unknown, desired: found, ordering: .relaxed).exchanged {
      layout.store(fingerprint, ordering: .releasing)
    }
    return found
  }

  /// Keeps the slot at a place. Slots are fewer than 32,768: their numbers fit.
  func keep(_ slot: Int, at object: UInt64) { place.store(object | UInt64(UInt16(truncatingIfNeeded: slot)), ordering: .relaxed) }

  /// The property in an entity.
  func property(in entity: CompiledEntity) -> CompiledProperty? { entity.property(named: name) }
}
