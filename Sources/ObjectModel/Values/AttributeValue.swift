public import Foundation

/// A Swift type of attributes.
///
/// The counterparts of Core Data's attribute types conform to it. `transformable` attributes hold the values of their transformer instead.
public protocol AttributeValue: Sendable, Hashable {
  /// The attribute type that stores the Swift type without loss.
  static var _attributeType: AttributeType { get }
  /// The value that a required property returns if none is stored: zero, the empty string, and so on.
  static var _emptyValue: Self { get }
  /// Creates the value from a slot; nil if the slot is null or of another kind.
  init?(_slot slot: Slot)
  /// The value as a slot.
  var _slot: Slot { get }
}

extension Slot {
  /// Creates the stored form of a value, such as `Slot(Decimal(5))` for a default value or bound of a description.
  @inlinable public init(_ value: some AttributeValue) { self = value._slot }

  /// Returns the stored value as a Swift value; nil if the slot is null or of another type.
  @inlinable public func value<Value: AttributeValue>(as type: Value.Type = Value.self) -> Value? { Value(_slot: self) }
}

extension Int16: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .integer16 }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Int16 { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self.init(truncatingIfNeeded: value)
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .int(Int64(self)) }
}

extension Int32: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .integer32 }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Int32 { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self.init(truncatingIfNeeded: value)
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .int(Int64(self)) }
}

extension Int64: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .integer64 }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Int64 { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self = value
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .int(self) }
}

extension Int: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .integer64 }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Int { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self = Int(truncatingIfNeeded: value)
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .int(Int64(self)) }
}

extension Bool: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .boolean }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Bool { false }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .int(let value) = slot else { return nil }
    self = value != 0
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .int(self ? 1 : 0) }
}

extension Double: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .double }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Double { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .real(let value) = slot else { return nil }
    self = value
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .real(self + 0) }
}

extension Float: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .float }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Float { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .real(let value) = slot else { return nil }
    self.init(value)
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .real(Double(self) + 0) }
}

extension String: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .string }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: String { "" }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .text(let value) = slot else { return nil }
    self = value
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .text(self) }
}

extension Date: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .date }
  /// The reference date, 2001-01-01 00:00 UTC.
  public static var _emptyValue: Date { Date(timeIntervalSinceReferenceDate: 0) }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .real(let value) = slot else { return nil }
    self.init(timeIntervalSinceReferenceDate: value)
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .real(timeIntervalSinceReferenceDate + 0) }
}

extension Data: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .binary }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Data { Data() }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  @inlinable public init?(_slot slot: Slot) {
    guard case .bytes(let value) = slot else { return nil }
    self = value
  }
  /// The value as a slot.
  @inlinable public var _slot: Slot { .bytes(self) }
}

extension UUID: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .uuid }
  /// The nil UUID, all zeros.
  public static var _emptyValue: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  public init?(_slot slot: Slot) {
    guard case .bytes(let value) = slot, value.count == 16 else { return nil }
    self = value.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
  /// The value as a slot.
  public var _slot: Slot { .bytes(withUnsafeBytes(of: uuid) { Data($0) }) }
}

extension URL: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .uri }
  /// `about:blank`.
  public static var _emptyValue: URL { URL(string: "about:blank") ?? URL(fileURLWithPath: "/") }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  public init?(_slot slot: Slot) {
    guard case .text(let value) = slot, let url = URL(string: value) else { return nil }
    self = url
  }
  /// The value as a slot.
  public var _slot: Slot { .text(absoluteString) }
}

extension Decimal: AttributeValue {
  /// The attribute type that stores the Swift type.
  public static var _attributeType: AttributeType { .decimal }
  /// The value that a required property returns if none is stored.
  public static var _emptyValue: Decimal { 0 }
  /// Creates the value from a slot; nil if the slot holds no value of the type.
  public init?(_slot slot: Slot) {
    guard case .bytes(let value) = slot, let decimal = DecimalCoding.decode(value) else { return nil }
    self = decimal
  }
  /// The value as a slot.
  public var _slot: Slot { .bytes(DecimalCoding.encode(self)) }
}
