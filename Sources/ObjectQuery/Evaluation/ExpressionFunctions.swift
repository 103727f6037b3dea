import Foundation
@_spi(Generated) package import ObjectModel

/// The functions of expressions on values, for the evaluator and for stores' SQL functions. An undefined result (division by zero, the root
/// of a negative number) is null.
package enum ExpressionFunctions {
  /// The version of the function results, as digits and underscores: of their rules, and of the Unicode data that text functions use.
  /// Indexes over expressions are valid for one version only.
  package static let version: String = {
    // Increment whenever the result of a function changes for any value.
    let rules = 2
    return "\(rules)_\(TextFolding.version)"
  }()

  /// Returns the result of a function of the resolved type.
  package static func apply(_ function: ResolvedFunction, _ arguments: [Slot], _ type: ResolvedType) -> Slot {
    if let count = function.argumentCount, arguments.count != count { return .null }
    if !function.takesMissingValues, arguments.contains(where: SlotComparison.isMissing) { return .null }
    switch function {
    case .uppercase: return text(arguments[0]) { $0.uppercased() }
    case .lowercase: return text(arguments[0]) { $0.lowercased() }
    case .canonical: return text(arguments[0]) { TextFolding.fold($0, [.caseInsensitive, .diacriticInsensitive]) }
    case .length:
      guard case .text(let value) = arguments[0] else { return .null }
      return .int(Int64(value.unicodeScalars.count))
    case .coalesce: return arguments.first { !SlotComparison.isMissing($0) } ?? .null
    case .relevance:
      guard case .text(let query)? = arguments.first else { return .real(0) }
      return .real(
        TextRelevance.of(TextQuery(typed: query), arguments.dropFirst().compactMap { if case .text(let text) = $0 { text } else { nil } }))
    case .noIndex: return arguments[0]
    case .distance: return distance(arguments.compactMap(double))
    case .random: return .real(Double.random(in: 0..<1))
    case .randomBelow:
      guard case .int(let bound) = arguments[0], bound > 0 else { return .null }
      return .int(Int64.random(in: 0..<bound))
    case .castToInteger, .castToReal, .castToDecimal, .castToText, .castToDate, .castToUUID, .castToURI, .textOfUUID:
      return ValueCast.cast(arguments[0], function)
    default: break
    }
    if let aggregate = function.listFunction {
      var statistic = Statistic(aggregate)
      for argument in arguments { statistic.add(argument) }
      return statistic.isEmpty ? aggregate.emptyResult(of: type) : statistic.result
    }
    switch type {
    case .integer: return integer(function, arguments)
    case .decimal: return decimal(function, arguments)
    default: return real(function, arguments)
    }
  }

  /// Returns the distance in meters between two points on a sphere with the earth's mean radius, by the haversine formula.
  private static func distance(_ degrees: [Double]) -> Slot {
    guard degrees.count == 4, abs(degrees[0]) <= 90, abs(degrees[2]) <= 90, degrees.allSatisfy(\.isFinite) else { return .null }
    let radians = degrees.map { $0 * .pi / 180 }
    let (latitudes, longitudes) = (sin((radians[2] - radians[0]) / 2), sin((radians[3] - radians[1]) / 2))
    let haversine = latitudes * latitudes + cos(radians[0]) * cos(radians[2]) * longitudes * longitudes
    return .real(2 * 6_371_008.8 * asin(min(1, haversine.squareRoot())))
  }

  private static func text(_ slot: Slot, _ change: (String) -> String) -> Slot {
    guard case .text(let value) = slot else { return .null }
    return .text(change(value))
  }

  /// Integer arithmetic. A result that overflows 64 bits becomes a double, as in SQLite.
  private static func integer(_ function: ResolvedFunction, _ arguments: [Slot]) -> Slot {
    // An argument may be a double if an inner result overflowed.
    guard case .int(let left) = arguments[0] else { return real(function, arguments) }
    var right: Int64 = 0
    if arguments.count > 1 {
      guard case .int(let value) = arguments[1] else { return real(function, arguments) }
      right = value
    }
    let result: (partialValue: Int64, overflow: Bool)
    switch function {
    case .add: result = left.addingReportingOverflow(right)
    case .subtract: result = left.subtractingReportingOverflow(right)
    case .multiply: result = left.multipliedReportingOverflow(by: right)
    case .divide:
      guard right != 0 else { return .null }
      result = left.dividedReportingOverflow(by: right)
    case .modulus:
      guard right != 0 else { return .null }
      return .int(right == -1 ? 0 : left % right)
    case .bitwiseAnd: return .int(left & right)
    case .bitwiseOr: return .int(left | right)
    case .bitwiseXor: return .int(left ^ right)
    case .leftShift: return .int(left << right)
    case .rightShift: return .int(left >> right)
    case .onesComplement: return .int(~left)
    case .absolute: result = left < 0 ? Int64(0).subtractingReportingOverflow(left) : (left, false)
    case .ceiling, .floor, .truncate: return .int(left)
    default: return .null
    }
    return result.overflow ? real(function, arguments) : .int(result.partialValue)
  }

  private static func decimal(_ function: ResolvedFunction, _ arguments: [Slot]) -> Slot {
    let values = arguments.compactMap { SlotComparison.decimal(of: $0) }
    guard values.count == arguments.count else { return real(function, arguments) }
    // A NaN that older versions stored stays NaN, so that it shows in sums.
    if values.contains(where: \.isNaN) { return .bytes(DecimalCoding.encode(.nan)) }
    var value = values[0]
    var result = Decimal()
    switch function {
    case .add: result = value + values[1]
    case .subtract: result = value - values[1]
    case .multiply: result = value * values[1]
    case .divide:
      guard values[1] != 0 else { return .null }
      result = value / values[1]
    case .absolute: result = value.magnitude
    case .ceiling: NSDecimalRound(&result, &value, 0, .up)
    case .floor: NSDecimalRound(&result, &value, 0, .down)
    case .truncate: NSDecimalRound(&result, &value, 0, value < 0 ? .up : .down)
    default: return .null
    }
    return result.isNaN ? .null : .bytes(DecimalCoding.encode(result))
  }

  private static func real(_ function: ResolvedFunction, _ arguments: [Slot]) -> Slot {
    let values = arguments.compactMap(double)
    guard values.count == arguments.count else { return .null }
    let left = values[0]
    let right = values.count > 1 ? values[1] : 0
    switch function {
    case .add: return number(left + right)
    case .subtract: return number(left - right)
    case .multiply: return number(left * right)
    case .divide: return right == 0 ? .null : number(left / right)
    case .power: return number(pow(left, right))
    case .absolute: return number(abs(left))
    case .ceiling: return number(left.rounded(.up))
    case .floor: return number(left.rounded(.down))
    case .truncate: return number(left.rounded(.towardZero))
    case .squareRoot: return number(left.squareRoot())
    case .naturalLogarithm: return left > 0 ? number(log(left)) : .null
    case .commonLogarithm: return left > 0 ? number(log10(left)) : .null
    case .exponential: return number(exp(left))
    default: return .null
    }
  }

  private static func number(_ value: Double) -> Slot { value.isNaN ? .null : .real(value) }

  static func double(_ slot: Slot) -> Double? {
    switch slot {
    case .int(let value): Double(value)
    case .real(let value): value
    case .bytes(let data): DecimalCoding.decode(data).map { NSDecimalNumber(decimal: $0).doubleValue }
    case .null, .text: nil
    }
  }
}

// MARK: - Casts

extension ValueCast {
  static func cast(_ value: Slot, _ function: ResolvedFunction) -> Slot {
    switch (function, value) {
    case (.castToInteger, .int), (.castToReal, .real), (.castToDecimal, .bytes), (.castToText, .text), (.castToURI, .text): value
    case (.castToInteger, .real(let number)): Int64(exactly: number.rounded(.towardZero)).map { .int($0) } ?? .null
    case (.castToInteger, .bytes):
      SlotComparison.decimal(of: value).flatMap(integer).map { .int($0) } ?? .null
    case (.castToInteger, .text(let text)): Int64(text).map { .int($0) } ?? .null
    case (.castToReal, .int(let number)): .real(Double(number))
    case (.castToReal, .bytes): SlotComparison.decimal(of: value).flatMap { real($0) } ?? .null
    case (.castToReal, .text(let text)): real(text) ?? .null
    case (.castToDecimal, .text(let text)): coded(decimal(text))
    case (.castToDecimal, _): coded(SlotComparison.decimal(of: value))
    case (.castToText, .int(let number)): .text(String(number))
    case (.castToText, .real(let number)): .text(Int64(exactly: number).map { String($0) } ?? String(number))
    case (.castToText, .bytes): SlotComparison.decimal(of: value).map { .text(text(of: $0)) } ?? .null
    case (.textOfUUID, .bytes(let bytes)): UUID(slot: .bytes(bytes)).map { .text($0.uuidString) } ?? .null
    case (.castToDate, .int(let number)): .real(Double(number))
    case (.castToDate, .real): value
    case (.castToDate, .bytes): SlotComparison.decimal(of: value).flatMap { real($0) } ?? .null
    case (.castToDate, .text(let text)): ISO8601Text.date(text).map { .real($0.timeIntervalSinceReferenceDate) } ?? .null
    case (.castToUUID, .bytes): value
    case (.castToUUID, .text(let text)): UUID(uuidString: text)?.slot ?? .null
    default: .null
    }
  }

  private static func real(_ value: Decimal) -> Slot? { Double(text(of: value)).map { .real($0) } }

  /// Returns the integer part of a decimal; nil if it does not fit.
  private static func integer(_ value: Decimal) -> Int64? {
    var (value, whole) = (value, Decimal())
    NSDecimalRound(&whole, &value, 0, value < 0 ? .up : .down)
    return Int64(text(of: whole))
  }

  private static func coded(_ value: Decimal?) -> Slot {
    guard let value, !value.isNaN else { return .null }
    return .bytes(DecimalCoding.encode(value))
  }
}
