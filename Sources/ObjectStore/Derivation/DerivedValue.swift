// DerivedValue: what a derivation makes of values, and how an attribute holds the result.
import Foundation
package import ObjectModel
package import ObjectQuery

/// Derived values out of plain ones, the same in memory and in stores' SQL functions.
package enum DerivedValue {
  /// A text, changed as the operation says; a value as it is by other operations.
  package static func changed(_ value: Slot, by operation: DerivationOperation) -> Slot {
    switch operation {
    case .canonical: ExpressionFunctions.apply(.canonical, [value], .text)
    case .uppercase: ExpressionFunctions.apply(.uppercase, [value], .text)
    case .lowercase: ExpressionFunctions.apply(.lowercase, [value], .text)
    default: value
    }
  }

  /// A computed value as an attribute of a type holds it; no value where the type does not hold it.
  package static func fitted(_ value: Slot, to type: AttributeType) -> Slot {
    switch (value, type) {
    case (.int(let number), .integer16): Int16(exactly: number) == nil ? .null : value
    case (.int(let number), .integer32): Int32(exactly: number) == nil ? .null : value
    case (.int(let number), .double): .real(Double(number))
    case (.int(let number), .float): .real(Double(Float(number)))
    case (.int(let number), .decimal): .bytes(DecimalCoding.encode(Decimal(number)))
    case (.real(let number), .float): number.isFinite && !Float(number).isFinite ? .null : .real(Double(Float(number)))
    // A sum of integers beyond 64 bits.
    case (.real, .integer16), (.real, .integer32), (.real, .integer64), (.real, .decimal): .null
    case (.bytes(let data), .double): real(of: data)
    case (.bytes(let data), .float): fitted(real(of: data), to: .float)
    default: value
    }
  }

  /// A decimal as a double; no value for NaN, which SQLite does not have.
  private static func real(of data: Data) -> Slot {
    guard let number = DecimalCoding.decode(data), !number.isNaN else { return .null }
    return .real(NSDecimalNumber(decimal: number).doubleValue)
  }

  /// Whether two values are the same in a store: texts that only look alike are not.
  package static func isSame(_ left: Slot, _ right: Slot) -> Bool {
    if case .text(let left) = left, case .text(let right) = right { return left.utf8.elementsEqual(right.utf8) }
    return left == right
  }
}

extension CompiledDerivation {
  /// The operation over many values, for the evaluator; nil for others.
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

  /// The value of an object that has nothing at the end of the path: 0 for counts and sums.
  package var emptyValue: Slot {
    switch operation {
    case .count: .int(0)
    case .sum: DerivedValue.fitted(.int(0), to: type)
    default: .null
    }
  }

  /// Whether every result is a value of the attribute as it stands.
  package var fitsAlways: Bool {
    switch operation {
    case .count: type == .integer64
    case .sum, .average: false
    default: source.map { $0.attributeType == type } ?? true
    }
  }
}
