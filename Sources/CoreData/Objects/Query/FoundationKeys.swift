import Foundation
import ObjectQuery

/// The properties of strings, numbers and other values that predicates and sort descriptors can use. Apple's systems read them through
/// Objective-C, which Linux lacks.
enum FoundationKeys {
  /// Returns the value of a property; nil if there is no such property.
  static func value(_ key: String, of constant: FetchConstant) -> Any? {
    switch constant {
    case .string(let text): value(key, of: text)
    case .url(let url): value(key, of: url)
    case .bool(let flag): value(key, of: NSNumber(value: flag))
    case .int(let number): value(key, of: NSNumber(value: number))
    case .real(let number): value(key, of: NSNumber(value: number))
    case .decimal(let number): value(key, of: NSDecimalNumber(decimal: number))
    case .date(let date): value(key, of: date)
    case .data(let data): key == "length" ? data.count : nil
    case .uuid(let uuid): key == "UUIDString" ? uuid.uuidString : nil
    case .null, .object, .entity, .list, .inMemory: nil
    }
  }

  private static func value(_ key: String, of text: String) -> Any? {
    let string = NSString(string: text)
    return switch key {
    // Counted like the function length() of predicates.
    case "length": text.unicodeScalars.count
    case "uppercaseString": text.uppercased()
    case "lowercaseString": text.lowercased()
    case "capitalizedString": text.capitalized
    case "intValue": string.intValue
    case "integerValue": string.integerValue
    case "longLongValue": string.longLongValue
    case "floatValue": string.floatValue
    case "doubleValue": string.doubleValue
    case "boolValue": string.boolValue
    case "pathExtension": string.pathExtension
    case "lastPathComponent": string.lastPathComponent
    case "stringByDeletingPathExtension": string.deletingPathExtension
    case "stringByDeletingLastPathComponent": string.deletingLastPathComponent
    default: nil
    }
  }

  private static func value(_ key: String, of number: NSNumber) -> Any? {
    switch key {
    case "intValue": number.int32Value
    case "integerValue": number.intValue
    case "longLongValue": number.int64Value
    case "floatValue": number.floatValue
    case "doubleValue": number.doubleValue
    case "boolValue": number.boolValue
    case "stringValue": number.stringValue
    default: nil
    }
  }

  private static func value(_ key: String, of url: URL) -> Any? {
    switch key {
    case "absoluteString": url.absoluteString
    case "path": url.path
    case "pathExtension": url.pathExtension
    case "lastPathComponent": url.lastPathComponent
    case "scheme": url.scheme
    case "host": url.host
    case "query": url.query
    case "fragment": url.fragment
    case "isFileURL", "fileURL": url.isFileURL
    default: nil
    }
  }

  private static func value(_ key: String, of date: Date) -> Any? {
    switch key {
    case "timeIntervalSinceReferenceDate": date.timeIntervalSinceReferenceDate
    case "timeIntervalSince1970": date.timeIntervalSince1970
    case "timeIntervalSinceNow": date.timeIntervalSinceNow
    default: nil
    }
  }
}
