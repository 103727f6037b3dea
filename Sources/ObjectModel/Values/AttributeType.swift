/// The type of an attribute, as in Core Data. The raw value is the name used in `.xcdatamodel` files.
///
/// The other properties of each type are in one table, `AttributeTypeTraits`. SQL functions number the types by their position, so a new
/// case goes to the end.
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
}
