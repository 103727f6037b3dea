// ManagedValue: values of properties as Core Data has them, and as this library does.
import Foundation
import ObjectContext
import ObjectModel

/// Values of properties as Core Data has them: to-many relationships are `NSSet`s and `NSOrderedSet`s.
enum ManagedValue {
  /// A value as applications are shown it.
  static func shown(_ value: Any?) -> Any? {
    switch value {
    case let members as Set<ManagedObject>: NSSet(array: Array(members))
    case let members as [ManagedObject]: NSOrderedSet(array: members)
    default: value
    }
  }

  /// Values as applications are shown them, `NSNull` for nil.
  static func shown(_ values: [String: Any?]) -> [String: Any] { values.mapValues { shown($0) ?? NSNull() } }

  /// A value as the library takes it.
  static func taken(_ value: Any?) -> Any? {
    switch AttributeConversion.unwrapped(value) {
    case let set as NSSet: objects(set.allObjects) ?? set
    case let set as NSOrderedSet: objects(set.array) ?? set
    case let number as NSDecimalNumber: number.decimalValue
    case let text as NSMutableString: "\(text)"
    case let value: value
    }
  }

  /// A value as an attribute whose values nothing else transforms keeps it: objects that archive as bytes.
  static func archived(_ value: Any?) -> Any? {
    guard let value, SecureArchive.archives(value), !(value is any Encodable) else { return value }
    return (try? SecureArchive.data(of: value)) ?? value
  }

  /// The object that was archived, where a type is that of one.
  static func unarchived<Value>(_ data: Data, as type: Value.Type) -> Value? {
    let wrapped = (type as? any OptionalType.Type)?.wrapped ?? type
    guard let type = wrapped as? any NSCoding.Type, let object = type as? AnyClass else { return nil }
    return (try? SecureArchive.object(of: data, classes: [object])) as? Value
  }

  /// The property list that a transformable attribute without a transformer stores as JSON or as an archive; nil for other bytes.
  static func propertyList(of data: Data) -> Any? {
    if let value = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) { return value }
    return try? SecureArchive.object(of: data, classes: [])
  }

  /// A number of any type as an `NSNumber`; nil for other values.
  static func number(_ value: Any) -> NSNumber? { (value as? Decimal).map { NSDecimalNumber(decimal: $0) } ?? value as? NSNumber }

  /// A decimal number as the number that an attribute of another type of numbers has; nil for a type that has no such number.
  static func number(_ number: NSDecimalNumber, for type: AttributeType?) -> Any? {
    switch type {
    case .integer16, .integer32, .integer64, .boolean: Int64(number.stringValue)
    case .double, .float: Double(number.stringValue)
    default: nil
    }
  }

  /// A value in which an object is its ID.
  static func unlinked(_ value: Any?) -> Any? { (value as? ManagedObject)?.objectID ?? value }

  /// What stands for a missing value of a type that is no optional one.
  static func empty<Value>() -> Value? {
    let empty: [Any] = [
      [ManagedObject](), NSSet(), NSOrderedSet(), NSArray(), NSNumber(value: 0), NSDecimalNumber.zero, NSString(), Data(), NSData(),
    ]
    return empty.lazy.compactMap { $0 as? Value }.first
  }

  /// Members of a relationship; nil where one is no object.
  static func objects(_ members: [Any]) -> [ManagedObject]? {
    let objects = members.compactMap { $0 as? ManagedObject }
    return objects.count == members.count ? objects : nil
  }
}

/// A stored value is none of the property's type.
struct ManagedValueError: LocalizedError {
  let entity: String
  let property: String
  /// Whether something is stored. Errors do not tell what.
  let hasValue: Bool
  let type: String

  var errorDescription: String? {
    hasValue
      ? "what is stored as “\(entity).\(property)” is the raw value of no \(type); add a case for it, or make the property optional"
      : "“\(entity).\(property)” has no value, and its type \(type) is not optional; make it optional, or give the object a value"
  }
}

/// A type that may have no value.
private protocol OptionalType {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
}
