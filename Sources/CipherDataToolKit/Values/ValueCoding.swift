import Foundation
@_spi(Generated) package import ObjectModel

/// Lossless conversion between attribute values and JSON: dates as ISO 8601; bytes as Base64; decimals, UUIDs, and URIs as strings.
package enum ValueCoding {
  /// An error about a JSON value that does not fit an attribute.
  package struct Mismatch: Error, Hashable {
    /// What is expected.
    package var message: String
  }

  // MARK: To JSON

  /// Returns a stored value as JSON.
  package static func json(_ slot: Slot, type: AttributeType) -> JSONValue {
    switch slot {
    case .null: .null
    case .int(let value): type.traits.resolvedType == .boolean ? .bool(value != 0) : .integer(value)
    case .real(let value): real(value, type: type)
    case .text(let value): .string(value)
    case .bytes(let data): bytes(data, type: type)
    }
  }

  private static func real(_ value: Double, type: AttributeType) -> JSONValue {
    if type.traits.resolvedType == .date, let text = InstantText.text(value) { return .string(text) }
    guard value.isFinite else { return .string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity") }
    return .number(type.traits.number == .single ? Float(value).description : value.description)
  }

  private static func bytes(_ data: Data, type: AttributeType) -> JSONValue {
    switch type.traits.resolvedType {
    case .uuid: if let uuid = UUID(slot: .bytes(data)) { return .string(uuid.uuidString) }
    case .decimal: if let decimal = DecimalCoding.decode(data) { return .string(decimal.isNaN ? "NaN" : decimal.description) }
    default: break
    }
    return .string(data.base64EncodedString())
  }

  /// Returns a stored value for a table or CSV: bytes as hexadecimal digits, other values as in JSON.
  package static func cell(_ slot: Slot, type: AttributeType) -> JSONValue {
    if case .bytes(let data) = slot, type.traits.canBeLarge { return .string(Hexadecimal.encode(data)) }
    return json(slot, type: type)
  }

  /// Returns a stored value for output, as a cell or as JSON.
  package static func output(_ slot: Slot, type: AttributeType, isCell: Bool) -> JSONValue {
    isCell ? cell(slot, type: type) : json(slot, type: type)
  }

  // MARK: From JSON

  /// Returns the stored value for a JSON value.
  ///
  /// - Throws: ``Mismatch``.
  package static func slot(_ value: JSONValue, type: AttributeType) throws(Mismatch) -> Slot {
    let traits = type.traits
    switch (traits.resolvedType, value) {
    case (_, .null): return .null
    case (.integer, .number(let text)): return .int(try integer(text, traits.number))
    case (.boolean, .bool(let value)): return .int(value ? 1 : 0)
    case (.boolean, .number("0")): return .int(0)
    case (.boolean, .number("1")): return .int(1)
    case (.real, .number(let text)), (.real, .string(let text)):
      return .real(try traits.number == .single ? float(text, isBare: value.isNumber) : double(text, isBare: value.isNumber))
    case (.date, .string(let text)):
      guard let seconds = InstantText.seconds(text) ?? notFinite(text) else { throw expected(type) }
      return .real(seconds)
    case (.date, .number(let text)): return .real(try double(text, isBare: true))
    case (.text, .string(let text)): return .text(text)
    case (.uri, .string(let text)):
      guard let url = URL(string: text) else { throw expected(type) }
      return .text(url.absoluteString)
    case (.uuid, .string(let text)):
      guard let uuid = UUID(uuidString: text) else { throw expected(type) }
      return uuid.slot
    case (.decimal, .string(let text)), (.decimal, .number(let text)): return try decimal(text)
    case (_, .string(let text)) where traits.canBeLarge: return .bytes(try data(text, type: type))
    default: throw Mismatch(message: "\(expectation(of: type)) is expected, not \(value.kindName).")
    }
  }

  private static func integer(_ text: String, _ form: NumberForm?) throws(Mismatch) -> Int64 {
    guard case .integer(let range)? = form, let number = Int64(text), range.contains(number) else {
      guard case .integer(let range)? = form else { throw expected(.integer64) }
      throw Mismatch(message: "A whole number from \(range.lowerBound) to \(range.upperBound) is expected.")
    }
    return number
  }

  private static func notFinite(_ text: String) -> Double? {
    switch text {
    case "NaN": .nan
    case "Infinity": .infinity
    case "-Infinity": -.infinity
    default: nil
    }
  }

  private static func double(_ text: String, isBare: Bool) throws(Mismatch) -> Double {
    if let value = isBare ? Double(text) : notFinite(text), isBare ? value.isFinite : true { return value }
    throw Mismatch(message: "A number that a double can hold is expected.")
  }

  private static func float(_ text: String, isBare: Bool) throws(Mismatch) -> Double {
    if let value = isBare ? Float(text).map(Double.init) : notFinite(text), isBare ? value.isFinite : true { return value }
    throw Mismatch(message: "A number that a float can hold is expected.")
  }

  /// Decimals reliably hold 38 digits; a text with more is rejected, not rounded.
  private static func decimal(_ text: String) throws(Mismatch) -> Slot {
    if text == "NaN" { return Decimal.nan.slot }
    guard case .number(text)? = try? JSONParser.parse(text) else { throw expected(.decimal) }
    let mantissa = text.utf8.prefix { $0 != 0x65 && $0 != 0x45 }.filter { (0x30...0x39).contains($0) }
    let significant = mantissa.drop { $0 == 0x30 }.reversed().drop { $0 == 0x30 }.count
    guard significant <= 38 else { throw Mismatch(message: "A decimal has at most 38 significant digits.") }
    guard let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), !decimal.isNaN,
      significant == 0 || decimal != 0
    else { throw Mismatch(message: "A decimal is between 10⁻¹²⁸ and 10¹⁶⁵.") }
    return decimal.slot
  }

  private static func data(_ text: String, type: AttributeType) throws(Mismatch) -> Data {
    if text.hasPrefix("hex:") {
      guard let bytes = Hexadecimal.decode(text.utf8.dropFirst(4)) else { throw Mismatch(message: "Hexadecimal digits are expected.") }
      return Data(bytes)
    }
    guard let data = Data(base64Encoded: text) else { throw expected(type) }
    return data
  }

  private static func expected(_ type: AttributeType) -> Mismatch { Mismatch(message: "\(expectation(of: type)) is expected.") }

  private static func expectation(of type: AttributeType) -> String {
    switch type.traits.resolvedType {
    case .integer: "A whole number"
    case .decimal: "A decimal number, as a string or number,"
    case .real: "A number"
    case .text: "A string"
    case .boolean: "true or false"
    case .date: "A date such as 2024-02-29T12:30:00Z"
    case .uuid: "A UUID"
    case .uri: "A URI"
    case .binary, .opaque, .object, .entity:
      type.traits.canBeLarge ? "A string of Base64, or of hexadecimal digits after “hex:”," : "No value"
    }
  }
}
