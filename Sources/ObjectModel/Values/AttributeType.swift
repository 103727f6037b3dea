/// The type of an attribute, as in Core Data. The raw value is the name used in `.xcdatamodel` files.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
  /// Any value; only for transient attributes.
  case undefined = "Undefined"
  /// A 16-bit signed integer.
  case integer16 = "Integer 16"
  /// A 32-bit signed integer.
  case integer32 = "Integer 32"
  /// A 64-bit signed integer.
  case integer64 = "Integer 64"
  /// A decimal number, stored exactly.
  case decimal = "Decimal"
  /// A double-precision number.
  case double = "Double"
  /// A single-precision number.
  case float = "Float"
  /// A string.
  case string = "String"
  /// A boolean.
  case boolean = "Boolean"
  /// A date and time.
  case date = "Date"
  /// Bytes.
  case binary = "Binary"
  /// A UUID.
  case uuid = "UUID"
  /// A URI, stored as its absolute string.
  case uri = "URI"
  /// Any value that an ``AttributeTransformer`` converts to bytes, or a `Codable` value.
  case transformable = "Transformable"
  /// A named group of attributes.
  case composite = "Composite"

  /// The storage form of values of the type.
  package var slotKind: SlotKind {
    switch self {
    case .integer16, .integer32, .integer64, .boolean: .int
    case .double, .float, .date: .real
    case .string, .uri: .text
    case .decimal, .binary, .uuid, .transformable: .bytes
    case .undefined, .composite: .none
    }
  }

  /// Whether values of the type can be compared and ordered in a column.
  var isComparable: Bool { ![.undefined, .transformable, .composite, .binary].contains(self) }

  /// Whether the type is numeric.
  package var isNumeric: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float: true
    default: false
    }
  }
}
