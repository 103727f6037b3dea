public import Foundation

/// A Swift type of attributes.
///
/// The counterparts of Core Data's attribute types conform to it. `transformable` attributes hold the values of their transformer instead.
public protocol AttributeValue: Sendable, Hashable {
  /// The attribute type that stores the Swift type without loss.
  @_spi(Generated) static var attributeType: AttributeType { get }
  /// The value that a required property returns if none is stored: zero, the empty string, and so on.
  @_spi(Generated) static var emptyValue: Self { get }
  /// Creates the value from a slot; nil if the slot is null or of another kind.
  @_spi(Generated) init?(slot: Slot)
  /// The value as a slot.
  @_spi(Generated) var slot: Slot { get }
}

extension Slot {
  /// Creates the stored form of a value, such as `Slot(Decimal(5))` for a default value or bound of a description.
  public init(_ value: some AttributeValue) { self = value.slot }

  /// Returns the stored value as a Swift value; nil if the slot is null or of another type.
  public func value<Value: AttributeValue>(as type: Value.Type = Value.self) -> Value? { Value(slot: self) }
}

/// Integers.
extension AttributeValue where Self: FixedWidthInteger {
  /// The attribute type of 64-bit integers.
  @_spi(Generated) public static var attributeType: AttributeType { .integer64 }
  /// Creates the value from a slot; nil if the slot holds no integer.
  @_spi(Generated) @inlinable public init?(slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self.init(truncatingIfNeeded: value)
  }
  /// The value as a slot.
  @_spi(Generated) @inlinable public var slot: Slot { .int(Int64(self)) }
}

/// Floating-point numbers.
extension AttributeValue where Self: BinaryFloatingPoint {
  /// Creates the value from a slot; nil if the slot holds no floating-point number.
  @_spi(Generated) @inlinable public init?(slot: Slot) {
    guard case .real(let value) = slot else { return nil }
    self.init(value)
  }
  /// The value as a slot. Adding 0 converts -0.0 to 0.0.
  @_spi(Generated) @inlinable public var slot: Slot { .real(Double(self) + 0) }
}

/// Numbers.
extension AttributeValue where Self: AdditiveArithmetic {
  /// Zero.
  @_spi(Generated) public static var emptyValue: Self { .zero }
}

/// Strings and binary data.
extension AttributeValue where Self: RangeReplaceableCollection {
  /// The empty string, or no bytes.
  @_spi(Generated) public static var emptyValue: Self { Self() }
}

extension Int16: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .integer16 }
}

extension Int32: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .integer32 }
}

extension Int64: AttributeValue {}

extension Int: AttributeValue {}

extension Bool: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .boolean }
  /// The value that a required property returns if none is stored.
  @_spi(Generated) public static var emptyValue: Bool { false }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) @inlinable public init?(slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self = value != 0
  }
  /// The value as a slot.
  @_spi(Generated) @inlinable public var slot: Slot { .int(self ? 1 : 0) }
}

extension Double: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .double }
}

extension Float: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .float }
}

extension String: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .string }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) @inlinable public init?(slot: Slot) {
    guard case .text(let value) = slot else { return nil }
    self = value
  }
  /// The value as a slot.
  @_spi(Generated) @inlinable public var slot: Slot { .text(self) }
}

extension Date: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .date }
  /// The reference date, 2001-01-01 00:00 UTC.
  @_spi(Generated) public static var emptyValue: Date { Date(timeIntervalSinceReferenceDate: 0) }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) @inlinable public init?(slot: Slot) {
    guard case .real(let value) = slot else { return nil }
    self.init(timeIntervalSinceReferenceDate: value)
  }
  /// The value as a slot.
  @_spi(Generated) @inlinable public var slot: Slot { .real(timeIntervalSinceReferenceDate + 0) }
}

extension Data: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .binary }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) @inlinable public init?(slot: Slot) {
    guard case .bytes(let value) = slot else { return nil }
    self = value
  }
  /// The value as a slot.
  @_spi(Generated) @inlinable public var slot: Slot { .bytes(self) }
}

extension UUID: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .uuid }
  /// The nil UUID, all zeros.
  @_spi(Generated) public static var emptyValue: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) public init?(slot: Slot) {
    guard case .bytes(let value) = slot, value.count == 16 else { return nil }
    self = value.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
  /// The value as a slot.
  @_spi(Generated) public var slot: Slot { .bytes(withUnsafeBytes(of: uuid) { Data($0) }) }
}

extension URL: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .uri }
  /// `about:blank`.
  @_spi(Generated) public static var emptyValue: URL { URL(string: "about:blank") ?? URL(fileURLWithPath: "/") }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) public init?(slot: Slot) {
    guard case .text(let value) = slot, let url = URL(string: value) else { return nil }
    self = url
  }
  /// The value as a slot.
  @_spi(Generated) public var slot: Slot { .text(absoluteString) }
}

extension Decimal: AttributeValue {
  /// The attribute type that stores the Swift type.
  @_spi(Generated) public static var attributeType: AttributeType { .decimal }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @_spi(Generated) public init?(slot: Slot) {
    guard case .bytes(let value) = slot, let decimal = DecimalCoding.decode(value) else { return nil }
    self = decimal
  }
  /// The value as a slot.
  @_spi(Generated) public var slot: Slot { .bytes(DecimalCoding.encode(self)) }
}
