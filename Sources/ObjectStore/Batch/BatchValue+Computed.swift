import Foundation
@_spi(Generated) import ObjectModel
import ObjectQuery

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
