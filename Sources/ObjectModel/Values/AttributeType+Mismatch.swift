import Foundation

/// The reason why a stored value does not match a type.
enum SlotMismatch {
  /// The integer does not fit into 16 or 32 bits.
  case outOfRange
  /// The value is of another kind.
  case wrongType
}

extension AttributeType {
  /// Returns why a value does not match the type; nil if it does. Null matches every type.
  @inline(__always) func mismatch(of slot: Slot) -> SlotMismatch? {
    switch (slot, self) {
    case (.null, _), (_, .undefined), (_, .composite): nil
    case (.int(let value), .integer16): Int16(exactly: value) == nil ? .outOfRange : nil
    case (.int(let value), .integer32): Int32(exactly: value) == nil ? .outOfRange : nil
    case (.int, .integer64), (.real, .double), (.real, .float), (.real, .date), (.text, .string), (.text, .uri): nil
    case (.int(let value), .boolean): value == 0 || value == 1 ? nil : .wrongType
    case (.bytes, .binary), (.bytes, .transformable): nil
    case (.bytes(let data), .uuid): data.count == 16 ? nil : .wrongType
    case (.bytes(let data), .decimal): DecimalCoding.decode(data) == nil ? .wrongType : nil
    default: .wrongType
    }
  }

  /// Returns why a value cannot be a default value or bound of the type in a model; nil if it can.
  @_optimize(none) func modelProblem(of slot: Slot) -> String? {
    switch mismatch(of: slot) {
    case nil: break
    case .outOfRange: return "does not fit into the type '\(rawValue)'"
    case .wrongType: return "is not of the type '\(rawValue)'"
    }
    switch (slot, self) {
    case (.null, _): return "is not of the type '\(rawValue)'"
    case (.real(let value), .date) where !value.isFinite: return "is not a date"
    case (.real(let value), _) where value.isNaN: return "is not a number"
    case (.bytes(let data), .decimal) where DecimalCoding.isNaN(data): return "is not a number"
    case (.text(let text), .uri) where URL(string: text) == nil: return "is not a URI"
    default: return nil
    }
  }
}
