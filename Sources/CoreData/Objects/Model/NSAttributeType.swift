import ObjectModel

/// The type of an attribute's values.
public enum NSAttributeType: UInt, Sendable {
  /// Unspecified; allowed only for transient attributes.
  case undefinedAttributeType = 0
  /// `Int16`.
  case integer16AttributeType = 100
  /// `Int32`.
  case integer32AttributeType = 200
  /// `Int64`.
  case integer64AttributeType = 300
  /// `Decimal`, stored exactly.
  case decimalAttributeType = 400
  /// `Double`.
  case doubleAttributeType = 500
  /// `Float`.
  case floatAttributeType = 600
  /// `String`.
  case stringAttributeType = 700
  /// `Bool`.
  case booleanAttributeType = 800
  /// `Date`.
  case dateAttributeType = 900
  /// `Data`.
  case binaryDataAttributeType = 1000
  /// `UUID`.
  case UUIDAttributeType = 1100
  /// `URL`.
  case URIAttributeType = 1200
  /// Any value that can be converted to data.
  case transformableAttributeType = 1800
  /// The ID of an object. Models cannot contain such attributes; the case exists for switch statements.
  case objectIDAttributeType = 2000
  /// A composite of several values.
  case compositeAttributeType = 2100

  init(_ type: AttributeType) { self = Self(rawValue: type.traits.coreData.number) ?? .undefinedAttributeType }

  var type: AttributeType { AttributeType(coreDataNumber: rawValue) ?? .undefined }
}

extension NSAttributeDescription {
  /// The type of an attribute's values, by its short name.
  public struct AttributeType: RawRepresentable, Hashable, Sendable {
    /// The type's number.
    public let rawValue: UInt
    /// Creates a type from its number.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    private init(_ type: NSAttributeType) { rawValue = type.rawValue }

    /// Unspecified.
    public static let undefined = AttributeType(.undefinedAttributeType)
    /// `Int16`.
    public static let integer16 = AttributeType(.integer16AttributeType)
    /// `Int32`.
    public static let integer32 = AttributeType(.integer32AttributeType)
    /// `Int64`.
    public static let integer64 = AttributeType(.integer64AttributeType)
    /// `Decimal`, stored exactly.
    public static let decimal = AttributeType(.decimalAttributeType)
    /// `Double`.
    public static let double = AttributeType(.doubleAttributeType)
    /// `Float`.
    public static let float = AttributeType(.floatAttributeType)
    /// `String`.
    public static let string = AttributeType(.stringAttributeType)
    /// `Bool`.
    public static let boolean = AttributeType(.booleanAttributeType)
    /// `Date`.
    public static let date = AttributeType(.dateAttributeType)
    /// `Data`.
    public static let binaryData = AttributeType(.binaryDataAttributeType)
    /// `UUID`.
    public static let uuid = AttributeType(.UUIDAttributeType)
    /// `URL`.
    public static let uri = AttributeType(.URIAttributeType)
    /// Any value that can be converted to data.
    public static let transformable = AttributeType(.transformableAttributeType)
    /// The ID of an object; see ``NSAttributeType/objectIDAttributeType``.
    public static let objectID = AttributeType(.objectIDAttributeType)
    /// A composite of several values.
    public static let composite = AttributeType(.compositeAttributeType)
  }

  /// The type of the values. Unknown numbers are treated as undefined.
  public final var type: AttributeType {
    get { AttributeType(rawValue: attributeType.rawValue) }
    set { attributeType = NSAttributeType(rawValue: newValue.rawValue) ?? .undefinedAttributeType }
  }
}
