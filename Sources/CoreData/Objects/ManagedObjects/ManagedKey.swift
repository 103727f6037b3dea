public import CProcessor
import Foundation
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

/// Converts property values between Core Data's types and the library's. To-many relationships are `NSSet`s and `NSOrderedSet`s.
enum ManagedValue {
  /// Returns a value in Core Data's type.
  static func shown(_ value: Any?) -> Any? {
    switch value {
    case let members as Set<ManagedObject>: NSSet(array: Array(members))
    case let members as [ManagedObject]: NSOrderedSet(array: members)
    default: value
    }
  }

  /// Returns values in Core Data's types, with `NSNull` for nil.
  static func shown(_ values: [String: Any?]) -> [String: Any] { values.mapValues { shown($0) ?? NSNull() } }

  /// Returns a value in the library's type.
  static func taken(_ value: Any?) -> Any? {
    switch AttributeConversion.unwrapped(value) {
    case let set as NSSet: objects(set.allObjects) ?? set
    case let set as NSOrderedSet: objects(set.array) ?? set
    case let number as NSDecimalNumber: number.decimalValue
    case let text as NSMutableString: "\(text)"
    case let value: value
    }
  }

  /// Returns a value as an attribute without a transformer stores it: objects as archived data.
  static func archived(_ value: Any?) -> Any? {
    guard let value, SecureArchive.archives(value), !(value is any Encodable) else { return value }
    return (try? SecureArchive.data(of: value)) ?? value
  }

  /// Returns the archived object if the type is an object type.
  static func unarchived<Value>(_ data: Data, as type: Value.Type) -> Value? {
    let wrapped = (type as? any OptionalType.Type)?.wrapped ?? type
    guard let type = wrapped as? any NSCoding.Type, let object = type as? AnyClass else { return nil }
    return (try? SecureArchive.object(of: data, classes: [object])) as? Value
  }

  /// Returns the property list that a transformable attribute without a transformer stores as JSON or as an archive; nil for other data.
  static func propertyList(of data: Data) -> Any? {
    if let value = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) { return value }
    return try? SecureArchive.object(of: data, classes: [])
  }

  /// Returns a number of any type as an `NSNumber`; nil for other values.
  static func number(_ value: Any) -> NSNumber? { (value as? Decimal).map { NSDecimalNumber(decimal: $0) } ?? value as? NSNumber }

  /// Returns a decimal number in the type of a numeric attribute; nil if the type cannot represent it.
  static func number(_ number: NSDecimalNumber, for type: AttributeType?) -> Any? {
    switch type?.traits.number {
    case .integer: Int64(number.stringValue)
    case .double, .single: Double(number.stringValue)
    case .decimal, nil: nil
    }
  }

  /// Returns a value with an object replaced by its ID.
  static func unlinked(_ value: Any?) -> Any? { (value as? ManagedObject)?.objectID ?? value }

  /// Returns the value that represents a missing value of a non-optional type.
  static func empty<Value>() -> Value? {
    let empty: [Any] = [
      [ManagedObject](), NSSet(), NSOrderedSet(), NSArray(), NSNumber(value: 0), NSDecimalNumber.zero, NSString(), Data(), NSData(),
    ]
    return empty.lazy.compactMap { $0 as? Value }.first
  }

  /// Returns the members of a relationship; nil if one is not an object.
  static func objects(_ members: [Any]) -> [ManagedObject]? {
    let objects = members.compactMap { $0 as? ManagedObject }
    return objects.count == members.count ? objects : nil
  }
}

/// The error that a stored value does not have the property's type.
struct ManagedValueError: LocalizedError {
  let entity: String
  let property: String
  /// Whether a value is stored. Errors do not contain the value.
  let hasValue: Bool
  let type: String

  var errorDescription: String? {
    hasValue
      ? "what is stored as “\(entity).\(property)” is the raw value of no \(type); add a case for it, or make the property optional"
      : "“\(entity).\(property)” has no value, and its type \(type) is not optional; make it optional, or give the object a value"
  }
}

/// A type that can represent a missing value.
private protocol OptionalType {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
}
