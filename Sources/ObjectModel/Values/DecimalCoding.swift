public import Foundation

/// The stored form of decimals: exact, canonical, and ordered by `memcmp` like the numbers.
///
/// Layout: one byte of class (0 not a number, 1 negative, 2 zero, 3 positive); for numbers other than zero, the decimal exponent *e* of
/// 0.d₁d₂… × 10ᵉ with d₁ ≠ 0 as a big-endian 16-bit integer biased by 32,768; then the digits in pairs, each pair plus one, the last padded
/// with a zero digit. The exponent and pairs of a negative number are complemented and followed by 0xFF, so that a longer number sorts
/// before a shorter one.
public enum DecimalCoding {
  /// Returns the bytes of a number. Equal numbers have equal bytes, regardless of their exponents.
  public static func encode(_ value: Decimal) -> Data {
    if value.isNaN { return Data([0]) }
    let (digits, exponent) = digitsAndExponent(value)
    return encode(digits, exponent: exponent, isNegative: value.sign == .minus)
  }

  /// Returns the bytes of the shortest decimal that reads back as a double, even if ``Decimal`` cannot represent it; nil for NaN and infinity.
  package static func encode(shortest value: Double) -> Data? {
    value.isFinite ? encode(text: value.magnitude.description, isNegative: value < 0) : nil
  }

  /// Returns the bytes of the shortest decimal that reads back as a double; nil if ``Decimal`` cannot represent it.
  package static func encode(representable value: Double) -> Data? { encode(shortest: value).flatMap { isCoding($0) ? $0 : nil } }

  /// Returns the bytes of the shortest decimal that reads back as a `Float`; nil if ``Decimal`` cannot represent it.
  static func encode(representable value: Float) -> Data? {
    guard value.isFinite else { return nil }
    let coding = encode(text: value.magnitude.description, isNegative: value < 0)
    return isCoding(coding) ? coding : nil
  }

  /// Returns the shortest decimal that reads back as a double; nil if ``Decimal`` cannot represent it.
  package static func decimal(shortest value: Double) -> Decimal? { encode(shortest: value).flatMap(decode) }

  private static func encode(text: String, isNegative: Bool) -> Data {
    // Such as 0.25, 120.0, 5e-324 and 1.25e+16.
    var digits: [UInt8] = []
    var exponent = 0
    var hasPoint = false
    let mantissa = text.prefix { $0 != "e" }
    for byte in mantissa.utf8 {
      if byte == UInt8(ascii: ".") {
        hasPoint = true
      } else {
        digits.append(byte - UInt8(ascii: "0"))
        if hasPoint { exponent -= 1 }
      }
    }
    if mantissa.endIndex < text.endIndex { exponent += Int(text[mantissa.endIndex...].dropFirst()) ?? 0 }
    return encode(Array(digits.drop { $0 == 0 }), exponent: exponent, isNegative: isNegative)
  }

  /// Returns the bytes of digits, most significant first and without leading zeros, and the power of ten of the last digit.
  private static func encode(_ digits: [UInt8], exponent: Int, isNegative: Bool) -> Data {
    guard !digits.isEmpty else { return Data([2]) }
    var digits = digits
    let pointExponent = exponent + digits.count
    while digits.last == 0 { digits.removeLast() }
    var bytes: [UInt8] = [isNegative ? 1 : 3]
    let biased = UInt16(clamping: pointExponent + 32_768)
    var body: [UInt8] = [UInt8(biased >> 8), UInt8(biased & 0xFF)]
    var index = 0
    while index < digits.count {
      let low = index + 1 < digits.count ? digits[index + 1] : 0
      body.append(digits[index] * 10 + low + 1)
      index += 2
    }
    if isNegative {
      bytes.append(contentsOf: body.map { ~$0 })
      bytes.append(0xFF)
    } else {
      bytes.append(contentsOf: body)
    }
    return Data(bytes)
  }

  /// Returns the number of bytes that ``encode(_:)`` returned; nil for any other bytes.
  ///
  /// Other encodings of a number are rejected, because equal values would have different bytes.
  public static func decode(_ data: Data) -> Decimal? {
    guard let value = decodeAny(data), !value.isNaN || data.first == 0 else { return nil }
    // Twenty pairs may exceed the precision of `Decimal`, which then rounds.
    if data.count >= 23, encode(value) != data { return nil }
    return value
  }

  /// Returns whether bytes encode NaN.
  package static func isNaN(_ data: Data) -> Bool { data.count == 1 && data.first == 0 }

  /// Returns whether ``decode(_:)`` accepts the bytes, mostly without its arithmetic.
  package static func isCoding(_ data: Data) -> Bool {
    let bytes = [UInt8](data)
    guard let kind = bytes.first else { return false }
    if kind == 0 || kind == 2 { return bytes.count == 1 }
    let flip: UInt8 = kind == 1 ? 0xFF : 0
    let end = kind == 1 ? bytes.count - 1 : bytes.count
    guard kind == 1 || kind == 3, (4...22).contains(end), kind == 3 || bytes[end] == 0xFF else { return decode(data) != nil }
    let exponent = (Int(bytes[1] ^ flip) << 8 | Int(bytes[2] ^ flip)) - 32_768
    // Near the limits of the exponent, validity depends on the digits.
    guard (-80...80).contains(exponent), bytes.count < 23 else { return decode(data) != nil }
    guard bytes[3] ^ flip > 10, bytes[end - 1] ^ flip > 1 else { return false }
    return bytes[3..<end].allSatisfy { (1...100).contains($0 ^ flip) }
  }

  private static func decodeAny(_ data: Data) -> Decimal? {
    var bytes = [UInt8](data)
    guard let kind = bytes.first else { return nil }
    switch kind {
    case 0: return bytes.count == 1 ? Decimal.nan : nil
    case 2: return bytes.count == 1 ? Decimal(0) : nil
    case 1:
      guard bytes.count >= 5, bytes.last == 0xFF else { return nil }
      bytes.removeLast()
      for index in 1..<bytes.count { bytes[index] = ~bytes[index] }
    case 3: guard bytes.count >= 4 else { return nil }
    default: return nil
    }
    let pointExponent = (Int(bytes[1]) << 8 | Int(bytes[2])) - 32_768
    var mantissa = Decimal(0)
    var digitCount = 0
    let pairs = bytes[3...]
    // The first digit and the last pair are not zero. `Decimal` holds at most 39 digits.
    guard let first = pairs.first, let last = pairs.last, first > 10, last > 1, pairs.count <= 20 else { return nil }
    for (offset, pair) in pairs.enumerated() {
      guard (1...100).contains(pair) else { return nil }
      let value = Int(pair) - 1
      let isLast = offset == pairs.count - 1
      if isLast && value % 10 == 0 {
        // The low digit of the last pair is padding: the encoder removes trailing zeros.
        mantissa = mantissa * 10 + Decimal(value / 10)
        digitCount += 1
      } else {
        mantissa = mantissa * 100 + Decimal(value)
        digitCount += 2
      }
    }
    let exponent = pointExponent - digitCount
    guard (-128...127).contains(exponent) else {
      // The encoder moved trailing zeros into the exponent. Arithmetic would move them there again, beyond the range of the type.
      guard (128...166).contains(exponent) else { return nil }
      let posix = Locale(identifier: "en_US_POSIX")
      let digits = NSDecimalNumber(decimal: mantissa).description(withLocale: posix) + String(repeating: "0", count: exponent - 127)
      guard let value = Decimal(string: digits + "e127", locale: posix), !value.isNaN else { return nil }
      return kind == 1 ? -value : value
    }
    return Decimal(sign: kind == 1 ? .minus : .plus, exponent: exponent, significand: mantissa)
  }

  /// Returns the digits of the mantissa, most significant first and without leading zeros, and the power of ten of the last digit.
  private static func digitsAndExponent(_ value: Decimal) -> ([UInt8], Int) {
    let exponent = value.exponent
    let magnitude = value.significand.magnitude
    // The significand is an integer of at most 39 digits, whose description is exact.
    let text = NSDecimalNumber(decimal: magnitude).description(withLocale: Locale(identifier: "en_US_POSIX"))
    let digits = text.utf8.compactMap { $0 >= 0x30 && $0 <= 0x39 ? $0 - 0x30 : nil }
    return (Array(digits.drop(while: { $0 == 0 })), exponent)
  }
}
