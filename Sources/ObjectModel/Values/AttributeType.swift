// AttributeType: the closed list of attribute types.

/// The type of an attribute: Core Data's list. The raw value is the name used in `.xcdatamodel` files.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
  /// Any value; transient attributes only.
  case undefined = "Undefined"
  /// A 16-bit signed integer.
  case integer16 = "Integer 16"
  /// A 32-bit signed integer.
  case integer32 = "Integer 32"
  /// A 64-bit signed integer.
  case integer64 = "Integer 64"
  /// A decimal number, kept exactly.
  case decimal = "Decimal"
  /// A double-precision number.
  case double = "Double"
  /// A single-precision number.
  case float = "Float"
  /// A string.
  case string = "String"
  /// A boolean.
  case boolean = "Boolean"
  /// An instant.
  case date = "Date"
  /// Bytes.
  case binary = "Binary"
  /// A UUID.
  case uuid = "UUID"
  /// A URI, kept as its absolute string.
  case uri = "URI"
  /// Any value that a named `ValueTransformer` turns into bytes, or a `Codable` value.
  case transformable = "Transformable"
  /// A named bundle of attributes.
  case composite = "Composite"

  /// How a value of the type is held.
  package var slotKind: SlotKind {
    switch self {
    case .integer16, .integer32, .integer64, .boolean: .int
    case .double, .float, .date: .real
    case .string, .uri: .text
    case .decimal, .binary, .uuid, .transformable: .bytes
    case .undefined, .composite: .none
    }
  }

  /// Whether values of the type can be told apart and put in an order by their column.
  var isComparable: Bool { ![.undefined, .transformable, .composite, .binary].contains(self) }

  /// Whether minimum and maximum values apply to the type.
  package var isNumeric: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float: true
    default: false
    }
  }
}
