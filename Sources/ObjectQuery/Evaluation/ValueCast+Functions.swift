import Foundation
@_spi(Generated) import ObjectModel

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
