// NSAttributeType: the types of attributes, and what deletions do, by Core Data's names and numbers.
import ObjectModel

/// The type of an attribute's values.
public enum NSAttributeType: UInt, Sendable {
  /// Not said; only transient attributes may have it.
  case undefinedAttributeType = 0
  /// `Int16`.
  case integer16AttributeType = 100
  /// `Int32`.
  case integer32AttributeType = 200
  /// `Int64`.
  case integer64AttributeType = 300
  /// `Decimal`, exactly.
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
  /// Any value that can be made bytes.
  case transformableAttributeType = 1800
  /// Several values under one name.
  case compositeAttributeType = 2100

  init(_ type: AttributeType) {
    self =
      switch type {
      case .undefined: .undefinedAttributeType
      case .integer16: .integer16AttributeType
      case .integer32: .integer32AttributeType
      case .integer64: .integer64AttributeType
      case .decimal: .decimalAttributeType
      case .double: .doubleAttributeType
      case .float: .floatAttributeType
      case .string: .stringAttributeType
      case .boolean: .booleanAttributeType
      case .date: .dateAttributeType
      case .binary: .binaryDataAttributeType
      case .uuid: .UUIDAttributeType
      case .uri: .URIAttributeType
      case .transformable: .transformableAttributeType
      case .composite: .compositeAttributeType
      }
  }

  var type: AttributeType {
    switch self {
    case .undefinedAttributeType: .undefined
    case .integer16AttributeType: .integer16
    case .integer32AttributeType: .integer32
    case .integer64AttributeType: .integer64
    case .decimalAttributeType: .decimal
    case .doubleAttributeType: .double
    case .floatAttributeType: .float
    case .stringAttributeType: .string
    case .booleanAttributeType: .boolean
    case .dateAttributeType: .date
    case .binaryDataAttributeType: .binary
    case .UUIDAttributeType: .uuid
    case .URIAttributeType: .uri
    case .transformableAttributeType: .transformable
    case .compositeAttributeType: .composite
    }
  }
}

/// What a deletion does to the objects that a relationship leads to.
public enum NSDeleteRule: UInt, Sendable {
  /// Nothing.
  case noActionDeleteRule
  /// They lose their way back.
  case nullifyDeleteRule
  /// They are deleted too.
  case cascadeDeleteRule
  /// It is refused as long as there are any.
  case denyDeleteRule

  init(_ rule: DeleteRule) {
    self =
      switch rule {
      case .noAction: .noActionDeleteRule
      case .nullify: .nullifyDeleteRule
      case .cascade: .cascadeDeleteRule
      case .deny: .denyDeleteRule
      }
  }

  var rule: DeleteRule {
    switch self {
    case .noActionDeleteRule: .noAction
    case .nullifyDeleteRule: .nullify
    case .cascadeDeleteRule: .cascade
    case .denyDeleteRule: .deny
    }
  }
}
