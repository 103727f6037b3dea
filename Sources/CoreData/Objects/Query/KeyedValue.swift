// KeyedValue: values by paths, of objects of every kind, and their order.
import Foundation
import ObjectContext
import ObjectModel

/// Values of objects, dictionaries and plain values by dotted paths.
enum KeyedValue {
  /// The value; nil where there is none.
  static func of(_ keyPath: String, in object: Any?) -> Any? {
    if keyPath.isEmpty || keyPath == "self" || keyPath == "SELF" { return AttributeConversion.unwrapped(object) }
    switch AttributeConversion.unwrapped(object) {
    case let object as NSManagedObject: return object.value(forKeyPath: keyPath)
    case let dictionary as NSDictionary: return inner(dictionary.object(forKey: keyPath), dictionary.object(forKey:), keyPath)
    case let dictionary as [String: Any]: return inner(dictionary[keyPath], { dictionary[$0] }, keyPath)
    default: return nil
    }
  }

  private static func inner(_ whole: Any?, _ value: (String) -> Any?, _ keyPath: String) -> Any? {
    // A key may have dots itself.
    if let whole { return AttributeConversion.unwrapped(whole) }
    guard let dot = keyPath.firstIndex(of: ".") else { return nil }
    return of(String(keyPath[keyPath.index(after: dot)...]), in: value(String(keyPath[..<dot])))
  }

  /// How two values stand in an order: what has no value comes first, and what cannot be compared is equal.
  static func compare(_ one: Any?, _ other: Any?, by comparison: SortComparison) -> ComparisonResult {
    switch (present(one), present(other)) {
    case (nil, nil): .orderedSame
    case (nil, _): .orderedAscending
    case (_, nil): .orderedDescending
    case (let one as String, let other as String): comparison.compare(one, other)
    case (let one as NSNumber, let other as NSNumber): one.compare(other)
    case (let one as Decimal, let other as Decimal): order(one, other)
    case (let one as Date, let other as Date): order(one, other)
    case (let one as UUID, let other as UUID): order(one.uuidString, other.uuidString)
    case (let one as URL, let other as URL): order(one.absoluteString, other.absoluteString)
    case (let one?, let other?): number(one).flatMap { one in number(other).map { one.compare($0) } } ?? .orderedSame
    }
  }

  private static func present(_ value: Any?) -> Any? {
    switch AttributeConversion.unwrapped(value) {
    case is NSNull: nil
    case let text as NSString: "\(text)"
    case let date as NSDate: Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    case let value: value
    }
  }

  private static func number(_ value: Any) -> NSNumber? {
    switch value {
    case let number as NSNumber: number
    case let number as Bool: NSNumber(value: number)
    case let number as Decimal: NSDecimalNumber(decimal: number)
    case let number as Double: NSNumber(value: number)
    case let number as Float: NSNumber(value: number)
    case let number as any BinaryInteger: NSNumber(value: Int64(clamping: number))
    default: nil
    }
  }

  private static func order<Value: Comparable>(_ one: Value, _ other: Value) -> ComparisonResult {
    one < other ? .orderedAscending : one == other ? .orderedSame : .orderedDescending
  }
}
