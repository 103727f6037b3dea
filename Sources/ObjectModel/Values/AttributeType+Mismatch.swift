import Foundation

/// The reason why a stored value does not match a type.
enum SlotMismatch {
  /// The integer does not fit into 16 or 32 bits.
  case outOfRange
  /// The value is of another kind.
  case wrongType
}

extension AttributeTypeTraits {
  /// Returns why a value does not match the type; nil if it does. Null matches every type.
  @inline(__always) func mismatch(of slot: Slot) -> SlotMismatch? {
    switch (slot, slotKind) {
    case (.null, _), (_, .none), (.real, .real), (.text, .text): return nil
    case (.int(let value), .int):
      guard case .integer(let range)? = number, !range.contains(value) else { return nil }
      return resolvedType == .boolean ? .wrongType : .outOfRange
    case (.bytes(let data), .bytes): return accepts(data) ? nil : .wrongType
    default: return .wrongType
    }
  }
}

extension AttributeType {
  /// Returns why a value cannot be a default value or bound of the type in a model; nil if it can.
  @_optimize(none) func modelProblem(of slot: Slot) -> String? {
    switch traits.mismatch(of: slot) {
    case nil: break
    case .outOfRange: return "does not fit into the type '\(rawValue)'"
    case .wrongType: return "is not of the type '\(rawValue)'"
    }
    switch (slot, traits.resolvedType) {
    case (.null, _): return "is not of the type '\(rawValue)'"
    case (.real(let value), .date) where !value.isFinite: return "is not a date"
    case (.real(let value), _) where value.isNaN: return "is not a number"
    case (.bytes(let data), .decimal) where DecimalCoding.isNaN(data): return "is not a number"
    case (.text(let text), .uri) where URL(string: text) == nil: return "is not a URI"
    default: return nil
    }
  }
}
