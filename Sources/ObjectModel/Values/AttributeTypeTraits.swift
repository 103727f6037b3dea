package import Foundation

/// The type of an expression's value, as far as it affects comparisons, conversions and text forms.
///
/// Each attribute type has the resolved type of its values; several attribute types can share one.
package enum ResolvedType: Sendable, Hashable {
  /// Stored as `Slot.int`.
  case integer, boolean
  /// Stored as `Slot.real`.
  case real, date
  /// Stored as `Slot.bytes`, a coded decimal.
  case decimal
  /// Stored as `Slot.text`.
  case text, uri
  /// Stored as `Slot.bytes`.
  case uuid, binary
  /// An object.
  case object
  /// An entity number, stored as `Slot.int`.
  case entity
  /// A value that can only be tested for being missing.
  case opaque

  /// Whether the type is numeric, so that arithmetic supports it.
  package var isNumeric: Bool {
    switch self {
    case .integer, .boolean, .real, .decimal: true
    default: false
    }
  }

  /// The storage form of the values.
  package var slotKind: SlotKind {
    switch self {
    case .integer, .boolean, .entity: .int
    case .real, .date: .real
    case .text, .uri: .text
    case .decimal, .uuid, .binary, .opaque: .bytes
    case .object: .reference
    }
  }
}

/// The precision of a number that an attribute stores.
package enum NumberForm: Sendable, Hashable {
  /// An integer of a range. A boolean is one of 0...1.
  case integer(ClosedRange<Int64>)
  /// A double-precision number.
  case double
  /// A single-precision number, stored as a double.
  case single
  /// An exact decimal.
  case decimal
}

/// The properties of an attribute type. Every part of the library that depends on the type of an attribute reads them.
///
/// To add a type, add a case to ``AttributeType`` and a constant to this table. Its ``resolvedType`` determines how predicates, model
/// files, JSON and other text forms treat the values.
package final class AttributeTypeTraits: Sendable {
  /// The type of the values in expressions.
  package let resolvedType: ResolvedType
  /// The storage form of the values.
  package let slotKind: SlotKind
  /// The precision of the values; nil if they are not numbers.
  package let number: NumberForm?
  /// The types that can hold all values of this type, starting with the type itself.
  let holders: [AttributeType]
  /// The Swift type; nil if it depends on the attribute.
  package let swiftType: SwiftType?
  /// The Swift types as which the values can be read and written; empty if they depend on the attribute.
  let acceptedTypes: [Any.Type]
  /// The Swift type of accepted values, as part of a message.
  package let expectation: String
  /// The type's form in Core Data's files and classes.
  package let coreData: CoreDataForm

  private let read: @Sendable (Slot) -> (any Sendable)?
  private let write: @Sendable (Any) -> Slot?

  /// The Swift type of an attribute type in generated source.
  package struct SwiftType: Sendable {
    /// The name of the type.
    package let name: String
    /// Whether Foundation, not the standard library, declares it.
    package let isOfFoundation: Bool
    /// The source of a constant; nil if it is created from a slot.
    package let literal: Literal?
  }

  /// The source of a constant of a Swift type.
  package enum Literal: Sendable, Hashable {
    /// The literal of a number or string.
    case plain
    /// `true` or `false`.
    case boolean
    /// The literal of a number, as the argument of an initializer with the label.
    case argument(label: String)
  }

  /// The form of an attribute type in Core Data.
  package struct CoreDataForm: Sendable {
    /// The number of the type in `NSAttributeType` and in compiled models.
    package let number: UInt
    /// The declared types of columns in Core Data's stores.
    package let columns: Set<String>
    /// The Swift type of properties in generated classes; nil if it depends on the attribute.
    package let property: String?
    /// The same if the attribute uses a scalar; nil if it cannot.
    package let scalar: String?

    /// Whether classes can use a scalar.
    var hasScalar: Bool { scalar != nil }

    init(_ number: UInt, columns: Set<String> = [], property: String? = nil, scalar: String? = nil) {
      self.number = number
      self.columns = columns
      self.property = property
      self.scalar = scalar
    }
  }

  /// Creates the traits of a type whose values have one Swift type.
  ///
  /// - Parameter accepted: Further Swift types as which the values can be read and written.
  private init<Value: AttributeValue>(
    _ type: Value.Type, _ resolvedType: ResolvedType, number: NumberForm? = nil, widerTypes: [AttributeType] = [],
    accepted: [Any.Type] = [],
    isOfFoundation: Bool = false, literal: Literal? = nil, expectation: String, coreData: CoreDataForm
  ) {
    self.resolvedType = resolvedType
    slotKind = resolvedType.slotKind
    self.number = number
    holders = [Value.attributeType] + widerTypes
    swiftType = SwiftType(name: "\(type)", isOfFoundation: isOfFoundation, literal: literal)
    acceptedTypes = [type] + accepted
    self.expectation = expectation
    self.coreData = coreData
    read = { Value(slot: $0) }
    write = { ($0 as? Value)?.slot }
  }

  /// Creates the traits of a type whose values can have several Swift types.
  private init(_ type: AttributeType, slotKind: SlotKind, expectation: String, coreData: CoreDataForm) {
    resolvedType = .opaque
    self.slotKind = slotKind
    number = nil
    holders = [type]
    swiftType = nil
    acceptedTypes = []
    self.expectation = expectation
    self.coreData = coreData
    read = { $0.untypedValue }
    write = { ($0 as? any AttributeValue)?.slot }
  }

  // MARK: Values

  /// Returns a slot's value as the Swift type; nil if it is null or of another kind.
  package func value(of slot: Slot) -> (any Sendable)? { read(slot) }

  /// Returns a value of the Swift type as a slot; nil if it has another type.
  func slot(of value: Any) -> Slot? { write(value) }

  /// Whether values can be large, so that they can be stored in files: bytes of any form.
  package var canBeLarge: Bool { slotKind == .bytes && (resolvedType == .binary || resolvedType == .opaque) }

  /// Whether every value of the storage form is valid.
  var isImpliedByKind: Bool {
    switch slotKind {
    case .int: number == .integer(.min ... .max)
    case .real, .text: true
    case .bytes: canBeLarge
    case .reference, .none: false
    }
  }

  /// Whether values may be integers or `Float`s, which `as?` casts from `Any` to few types.
  var castsByNumber: Bool {
    switch number {
    case .integer: resolvedType != .boolean
    case .single: true
    case .double, .decimal: false
    case nil: slotKind == .none
    }
  }

  /// Returns whether bytes are a value of the type.
  package func accepts(_ bytes: Data) -> Bool {
    switch resolvedType {
    case .decimal: DecimalCoding.isCoding(bytes)
    case .uuid: bytes.count == 16
    default: true
    }
  }

  // MARK: The table

  private static let integers: [Any.Type] = [Int.self, Int64.self, Int32.self, Int16.self]

  fileprivate static let integer16 = AttributeTypeTraits(
    Int16.self, .integer, number: .integer(Int64(Int16.min)...Int64(Int16.max)), widerTypes: [.integer32, .integer64], accepted: integers,
    literal: .plain, expectation: "an integer", coreData: CoreDataForm(100, columns: ["INTEGER"], property: "NSNumber?", scalar: "Int16"))
  fileprivate static let integer32 = AttributeTypeTraits(
    Int32.self, .integer, number: .integer(Int64(Int32.min)...Int64(Int32.max)), widerTypes: [.integer64], accepted: integers,
    literal: .plain, expectation: "an integer", coreData: CoreDataForm(200, columns: ["INTEGER"], property: "NSNumber?", scalar: "Int32"))
  fileprivate static let integer64 = AttributeTypeTraits(
    Int64.self, .integer, number: .integer(.min ... .max), accepted: integers, literal: .plain, expectation: "an integer",
    coreData: CoreDataForm(300, columns: ["INTEGER"], property: "NSNumber?", scalar: "Int64"))
  fileprivate static let decimal = AttributeTypeTraits(
    Decimal.self, .decimal, number: .decimal, isOfFoundation: true, expectation: "a number",
    coreData: CoreDataForm(400, columns: ["DECIMAL"], property: "NSDecimalNumber?"))
  fileprivate static let double = AttributeTypeTraits(
    Double.self, .real, number: .double, accepted: [Float.self], literal: .plain, expectation: "a number",
    coreData: CoreDataForm(500, columns: ["FLOAT", "REAL"], property: "NSNumber?", scalar: "Double"))
  fileprivate static let float = AttributeTypeTraits(
    Float.self, .real, number: .single, widerTypes: [.double], accepted: [Double.self], literal: .plain, expectation: "a number",
    coreData: CoreDataForm(600, columns: ["FLOAT", "REAL"], property: "NSNumber?", scalar: "Float"))
  fileprivate static let string = AttributeTypeTraits(
    String.self, .text, literal: .plain, expectation: "a String",
    coreData: CoreDataForm(700, columns: ["VARCHAR", "TEXT"], property: "String?"))
  fileprivate static let boolean = AttributeTypeTraits(
    Bool.self, .boolean, number: .integer(0...1), literal: .boolean, expectation: "a Bool",
    coreData: CoreDataForm(800, columns: ["INTEGER"], property: "NSNumber?", scalar: "Bool"))
  fileprivate static let date = AttributeTypeTraits(
    Date.self, .date, isOfFoundation: true, literal: .argument(label: "timeIntervalSinceReferenceDate"), expectation: "a Date",
    coreData: CoreDataForm(900, columns: ["TIMESTAMP"], property: "Date?", scalar: "TimeInterval"))
  fileprivate static let binary = AttributeTypeTraits(
    Data.self, .binary, isOfFoundation: true, expectation: "Data",
    coreData: CoreDataForm(1000, columns: ["BLOB", "VARCHAR"], property: "Data?"))
  fileprivate static let uuid = AttributeTypeTraits(
    UUID.self, .uuid, isOfFoundation: true, expectation: "a UUID",
    coreData: CoreDataForm(1100, columns: ["BLOB", "VARCHAR"], property: "UUID?", scalar: "UUID?"))
  fileprivate static let uri = AttributeTypeTraits(
    URL.self, .uri, isOfFoundation: true, expectation: "a URL",
    coreData: CoreDataForm(1200, columns: ["VARCHAR", "TEXT"], property: "URL?"))
  fileprivate static let transformable = AttributeTypeTraits(
    .transformable, slotKind: .bytes, expectation: "a value that its transformer takes",
    coreData: CoreDataForm(1800, columns: ["BLOB", "VARCHAR"]))
  fileprivate static let composite = AttributeTypeTraits(
    .composite, slotKind: .none, expectation: "a value of an attribute", coreData: CoreDataForm(2100, property: "[String: Any]?"))
  fileprivate static let undefined = AttributeTypeTraits(
    .undefined, slotKind: .none, expectation: "a value of an attribute", coreData: CoreDataForm(0))
}

extension AttributeType {
  /// The properties of the type. A look-up takes constant time and allocates nothing.
  package var traits: AttributeTypeTraits {
    switch self {
    case .undefined: .undefined
    case .integer16: .integer16
    case .integer32: .integer32
    case .integer64: .integer64
    case .decimal: .decimal
    case .double: .double
    case .float: .float
    case .string: .string
    case .boolean: .boolean
    case .date: .date
    case .binary: .binary
    case .uuid: .uuid
    case .uri: .uri
    case .transformable: .transformable
    case .composite: .composite
    }
  }

  /// Creates the type with a number of Core Data; nil if there is none.
  package init?(coreDataNumber number: UInt) {
    guard let type = Self.allCases.first(where: { $0.traits.coreData.number == number }) else { return nil }
    self = type
  }

  /// Creates the attribute type for an expression's values; nil for objects, entities and opaque values.
  package init?(_ type: ResolvedType) {
    switch type {
    case .integer: self = .integer64
    case .boolean: self = .boolean
    case .real: self = .double
    case .date: self = .date
    case .decimal: self = .decimal
    case .text: self = .string
    case .uri: self = .uri
    case .uuid: self = .uuid
    case .binary: self = .binary
    case .object, .entity, .opaque: return nil
    }
  }

  /// The storage form of values of the type.
  package var slotKind: SlotKind { traits.slotKind }

  /// Whether values of the type can be compared and ordered in a column.
  var isComparable: Bool { traits.resolvedType != .opaque && traits.resolvedType != .binary }

  /// Whether the type is numeric.
  package var isNumeric: Bool { traits.number != nil && traits.resolvedType != .boolean }

  /// Whether the type is that of integers, except for booleans.
  package var isInteger: Bool { traits.resolvedType == .integer }

  /// The name of the type in Swift declarations.
  package var identifier: String { rawValue.filter { $0 != " " } }
}
