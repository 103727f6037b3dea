import Foundation
import ObjectModel

/// A target type of CAST for literals. With it, every constant has a textual form.
enum PredicateCast: String, CaseIterable {
  case date = "Date"
  case decimal = "Decimal"
  case double = "Double"
  case integer = "Int"
  case string = "String"
  case uuid = "UUID"
  case url = "URL"
  case data = "Data"
  case objectID = "ObjectID"
  case entity = "Entity"

  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// Creates the type for a name, including Core Data's names.
  init?(name: String) {
    switch name {
    case "Float", "Number": self = .double
    case "Int16", "Int32", "Int64", "Integer": self = .integer
    case "NSDate": self = .date
    case "NSDecimalNumber": self = .decimal
    case "NSNumber": self = .double
    case "NSString": self = .string
    case "NSUUID": self = .uuid
    case "NSURL": self = .url
    case "NSData": self = .data
    default: self.init(rawValue: name)
    }
  }

  /// Returns a literal as a constant of the type; nil if it cannot be converted.
  func cast(_ value: FetchConstant) -> FetchConstant? {
    switch (self, value) {
    case (.date, .date), (.uuid, .uuid), (.url, .url), (.data, .data), (.objectID, .object), (.entity, .entity), (.string, .string): value
    case (.date, .string(let text)): PredicateCast.date(text).map { .date($0) }
    case (.date, _): value.double.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case (.decimal, .string(let text)): text == "NaN" ? .decimal(.nan) : ValueCast.decimal(text).map { .decimal($0) }
    case (.decimal, .int(let number)): .decimal(Decimal(number))
    case (.decimal, .decimal): value
    case (.decimal, .real(let number)): DecimalCoding.decimal(shortest: number).map { .decimal($0) }
    case (.double, .string(let text)): Double(text).map { .real($0) }
    case (.double, .date(let date)): .real(date.timeIntervalSinceReferenceDate)
    case (.double, _): value.double.map { .real($0) }
    case (.integer, .int): value
    case (.integer, .bool(let flag)): .int(flag ? 1 : 0)
    case (.integer, _), (.string, _):
      value.natural.flatMap { slot, type in
        let result = ValueCast.cast(slot, self == .integer ? .castToInteger : type == .uuid ? .textOfUUID : .castToText)
        switch result {
        case .int(let number): return .int(number)
        case .text(let text): return .string(text)
        default: return nil
        }
      }
    case (.decimal, .bool(let flag)): .decimal(flag ? 1 : 0)
    case (.uuid, .string(let text)): UUID(uuidString: text).map { .uuid($0) }
    case (.url, .string(let text)): URL(string: text).map { .url($0) }
    case (.data, .string(let text)): Data(base64Encoded: text).map { .data($0) }
    case (.objectID, .string(let text)): URL(string: text).flatMap(ManagedObjectID.init(uri:)).map { .object($0) }
    case (.entity, .string(let text)): .entity(text)
    default: nil
    }
  }

  /// Parses an ISO 8601 date, or NaN and infinity, as which dates that are not finite are printed.
  private static func date(_ text: String) -> Date? {
    if ["nan", "inf", "-inf"].contains(text) { return Double(text).map { Date(timeIntervalSinceReferenceDate: $0) } }
    return ISO8601Text.date(text)
  }
}

extension FetchConstant {
  fileprivate var double: Double? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .int(let value): Double(value)
    case .real(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    default: nil
    }
  }
}

/// Type conversions for CAST of values that are known only when objects are read. A value that cannot be converted becomes null.
enum ValueCast {
  private static let posix = Locale(identifier: "en_US_POSIX")

  /// Returns a decimal as text, without an exponent.
  static func text(of value: Decimal) -> String { NSDecimalNumber(decimal: value).description(withLocale: posix) }

  /// Returns the decimal that the whole text represents: digits with an optional sign, decimal point and exponent.
  static func decimal(_ text: String) -> Decimal? {
    guard isNumber(text), let value = Decimal(string: text, locale: posix), !value.isNaN else { return nil }
    return value
  }

  static func real(_ text: String) -> Slot? {
    guard isNumber(text), let value = Double(text), value.isFinite else { return nil }
    return .real(value)
  }

  private static func isNumber(_ text: String) -> Bool {
    var hasDigits = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): hasDigits = true
      case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): break
      default: return false
      }
    }
    // `Decimal` and `Double` differ: both parsers accept a prefix or reject text that the other accepts. The rule of `Double` applies.
    return hasDigits && Double(text) != nil
  }
}
