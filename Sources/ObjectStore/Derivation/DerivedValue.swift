import Foundation
package import ObjectModel
package import ObjectQuery

/// The computation of derived values, shared by evaluation in memory and the SQL functions of stores.
package enum DerivedValue {
  /// Applies a text operation to a value. Other operations return the value unchanged.
  package static func changed(_ value: Slot, by operation: DerivationOperation) -> Slot {
    switch operation {
    case .canonical: ExpressionFunctions.apply(.canonical, [value], .text)
    case .uppercase: ExpressionFunctions.apply(.uppercase, [value], .text)
    case .lowercase: ExpressionFunctions.apply(.lowercase, [value], .text)
    default: value
    }
  }

  /// Converts a computed value to an attribute type. Returns null if the type cannot represent the value.
  package static func fitted(_ value: Slot, to type: AttributeType) -> Slot {
    guard type.isNumeric, let number = type.traits.number else { return value }
    return fitted(value, number)
  }

  private static func fitted(_ value: Slot, _ form: NumberForm) -> Slot {
    switch (value, form) {
    case (.int(let number), .integer(let range)): range.contains(number) ? value : .null
    case (.int(let number), .double): .real(Double(number))
    case (.int(let number), .single): .real(Double(Float(number)))
    case (.int(let number), .decimal): .bytes(DecimalCoding.encode(Decimal(number)))
    case (.real(let number), .single): number.isFinite && !Float(number).isFinite ? .null : .real(Double(Float(number)))
    // The sum of integers exceeds 64 bits.
    case (.real, .integer), (.real, .decimal): .null
    case (.bytes(let data), .double): real(of: data)
    case (.bytes(let data), .single): fitted(real(of: data), .single)
    default: value
    }
  }

  /// Converts a decimal to a double. Returns null for NaN, which SQLite cannot store.
  private static func real(of data: Data) -> Slot {
    guard let number = DecimalCoding.decode(data), !number.isNaN else { return .null }
    return .real(NSDecimalNumber(decimal: number).doubleValue)
  }

  /// Returns whether two values are identical when stored. Canonically equivalent texts with different bytes are not.
  package static func isSame(_ left: Slot, _ right: Slot) -> Bool {
    if case .text(let left) = left, case .text(let right) = right { return left.utf8.elementsEqual(right.utf8) }
    return left == right
  }
}

extension CompiledDerivation {
  /// The aggregate function of the operation, or nil if it is not an aggregate.
  package var statistic: ResolvedAggregate.Function? {
    switch operation {
    case .count: .count
    case .sum: .sum
    case .minimum: .minimum
    case .maximum: .maximum
    case .average: .average
    case .copy, .canonical, .uppercase, .lowercase, .now: nil
    }
  }

  /// The value for an object without any values at the end of the path: 0 for counts and sums, otherwise null.
  package var emptyValue: Slot {
    switch operation {
    case .count: .int(0)
    case .sum: DerivedValue.fitted(.int(0), to: type)
    default: .null
    }
  }

  /// Whether every result is a valid value of the attribute without conversion.
  package var alwaysFits: Bool {
    switch operation {
    case .count: type == .integer64
    case .sum, .average: false
    default: source.map { $0.attributeType == type } ?? true
    }
  }
}
