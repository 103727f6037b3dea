import Foundation
@_spi(Generated) import ObjectModel
import ObjectQuery

/// Converts the values of batch requests to slots, and validates them as in a save.
enum BatchValue {
  /// The reason why a property cannot take a value.
  struct Failure: Error {
    let code: BatchError.Code
    let key: String
    let reason: String
    var remedy: Remedy?

    func error(_ entityName: String, row: Int? = nil) -> BatchError {
      var error = BatchError(code, entityName: entityName, key: key, row: row, reason: reason)
      error.remedy = remedy
      return error
    }
  }

  /// Converts a value to the slot of an attribute and validates it.
  static func slot(from value: Any?, for slot: CompiledSlot) throws(Failure) -> Slot {
    let converted: Slot
    do { converted = try AttributeConversion.slot(from: value, for: slot) } catch {
      let type = slot.attributeType?.rawValue ?? "none"
      switch error {
      case .wrongType:
        let given = AttributeConversion.unwrapped(value).map { "\(Swift.type(of: $0))" } ?? "nil"
        throw Failure(
          code: .wrongType, key: slot.name, reason: "takes \(AttributeConversion.expectation(of: slot)), and was given \(given).")
      case .outOfRange: throw Failure(code: .numberOutOfRange, key: slot.name, reason: "was given a number that does not fit into \(type).")
      case .transformFailed(let detail): throw Failure(code: .wrongType, key: slot.name, reason: "has a transformer that failed: \(detail)")
      }
    }
    return try checked(converted, for: slot)
  }

  /// Validates the value of an attribute. A null value is valid only for an optional attribute.
  static func checked(_ value: Slot, for slot: CompiledSlot) throws(Failure) -> Slot {
    guard let failure = slot.checker?.failure(of: value) else {
      // Normalizes -0.0, which stores save as 0.0.
      if case .real(let number) = value { return .real(number + 0) }
      return value
    }
    let (code, reason): (BatchError.Code, String) =
      switch failure {
      case .missing: (.missingValue, "is required and was given no value.")
      case .wrongType: (.wrongType, "was given a value of another type than \(slot.attributeType?.rawValue ?? "none").")
      case .notANumber: (.invalidValue, "was given a value that is not a number (NaN), which no store keeps. Give a number.")
      case .invalidDate: (.invalidValue, "was given a date that is not finite. Give another date.")
      case .integerOutOfRange: (.numberOutOfRange, "was given a number that does not fit into \(slot.attributeType?.rawValue ?? "none").")
      case .numberTooSmall: (.invalidValue, "was given a number below the minimum.")
      case .numberTooLarge: (.invalidValue, "was given a number above the maximum.")
      case .dateTooEarly: (.invalidValue, "was given a date before the earliest allowed.")
      case .dateTooLate: (.invalidValue, "was given a date after the latest allowed.")
      case .stringTooShort: (.invalidValue, "was given a string with too few characters.")
      case .stringTooLong: (.invalidValue, "was given a string with too many characters.")
      case .patternMismatch: (.invalidValue, "was given a string that does not match the model's pattern.")
      }
    throw Failure(code: code, key: slot.name, reason: reason)
  }

  /// Converts an object ID to the slot of a to-one relationship. Whether the object exists is checked later.
  static func reference(
    from value: Any?, for relationship: CompiledRelationship, model: CompiledModel, space: ObjectIDSpace
  ) throws(Failure) -> Slot {
    func failure(_ code: BatchError.Code, _ reason: String) -> Failure { Failure(code: code, key: relationship.name, reason: reason) }
    if relationship.isTransient { throw failure(.notSettable, "is transient and not stored. Leave it out.") }
    guard let value else {
      if !relationship.isOptional { throw failure(.missingValue, "is required and was given no object.") }
      return .null
    }
    guard let objectID = value as? ManagedObjectID else {
      throw Failure(code: .wrongType, key: relationship.name, reason: "is a to-one relationship.", remedy: .useSavedObject)
    }
    if let inverse = model.inverse(of: relationship), !inverse.isToMany {
      throw failure(
        .notSettable, "is one of two to-one relationships between the same objects, which batch requests cannot join. Save objects.")
    }
    guard !objectID.isTemporaryID else {
      throw failure(.objectNotFound, "was given an object that was never saved. Save it first.")
    }
    guard objectID.space == space.number else {
      throw failure(.objectNotFound, "was given an object of another store.")
    }
    guard model.entities[relationship.destinationEntity].subtree.contains(Int(objectID.entityNumber)) else {
      throw failure(.wrongType, "was given an object of another entity than \(model.entities[relationship.destinationEntity].name).")
    }
    return .int(objectID.reference.rawValue)
  }
}

// MARK: - Converting computed values

extension BatchValue {
  /// Returns whether values of an expression type can be converted to an attribute type.
  static func canAssign(_ type: ResolvedType, to attribute: AttributeType) -> Bool {
    switch attribute.traits.resolvedType {
    case .integer, .real, .decimal: type.isNumeric
    case .boolean: type == .boolean || type == .integer
    case .text, .uri: type == .text || type == .uri
    case .uuid: type == .uuid || type == .text
    case .date, .binary: type == attribute.traits.resolvedType
    case .object, .entity, .opaque: false
    }
  }

  /// Converts a computed value to the slot of an attribute and validates it.
  static func assigned(_ value: Slot, to slot: CompiledSlot) throws(Failure) -> Slot {
    try checked(try converted(value, to: slot), for: slot)
  }

  private static func converted(_ value: Slot, to slot: CompiledSlot) throws(Failure) -> Slot {
    if SlotComparison.isMissing(value) { return .null }
    switch slot.attributeType?.traits.number {
    case .integer: return try whole(value, slot)
    case .double, .single:
      guard let number = double(value) else { throw mismatch(slot) }
      guard slot.attributeType?.traits.number == .single else { return .real(number) }
      if number.isFinite, Float(number).isInfinite {
        throw Failure(code: .numberOutOfRange, key: slot.name, reason: "was computed as a number beyond the range of Float.")
      }
      return .real(Double(Float(number)))
    case .decimal:
      guard let number = SlotComparison.decimal(of: value) else {
        throw Failure(code: .numberOutOfRange, key: slot.name, reason: "was computed as a number beyond the range of decimals.")
      }
      return .bytes(DecimalCoding.encode(number))
    case nil: break
    }
    switch slot.attributeType?.traits.resolvedType {
    case .uri:
      guard case .text(let text) = value, URL(string: text) != nil else { throw mismatch(slot) }
      return value
    case .uuid:
      guard case .text(let text) = value else { return value }
      guard let uuid = UUID(uuidString: text) else { throw mismatch(slot) }
      return uuid.slot
    default: return value
    }
  }

  /// Returns a number as an integer. Throws if it has a fraction.
  private static func whole(_ value: Slot, _ slot: CompiledSlot) throws(Failure) -> Slot {
    switch value {
    case .int: return value
    case .real(let number): if let integer = Int64(exactly: number) { return .int(integer) }
    case .bytes:
      if let number = SlotComparison.decimal(of: value), let integer = Int64(NSDecimalNumber(decimal: number).stringValue) {
        return .int(integer)
      }
    case .null, .text: throw mismatch(slot)
    }
    throw Failure(
      code: .numberOutOfRange, key: slot.name,
      reason: "is an integer and was computed as another number. Use trunc(), floor() or ceiling() to round it.")
  }

  private static func double(_ value: Slot) -> Double? {
    switch value {
    case .int(let number): Double(number)
    case .real(let number): number
    case .bytes: SlotComparison.decimal(of: value).map { Double(NSDecimalNumber(decimal: $0).stringValue) ?? .nan }
    case .null, .text: nil
    }
  }

  private static func mismatch(_ slot: CompiledSlot) -> Failure {
    Failure(
      code: .wrongType, key: slot.name, reason: "was computed as a value of another type than \(slot.attributeType?.rawValue ?? "none").")
  }
}
