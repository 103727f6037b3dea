import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery

/// Reads values of objects, dictionaries and plain values by key path, and compares them.
enum KeyedValue {
  /// Returns the value at a key path; nil if there is no value.
  static func of(_ keyPath: String, in object: Any?) -> Any? {
    if keyPath.isEmpty || keyPath == "self" || keyPath == "SELF" { return AttributeConversion.unwrapped(object) }
    switch AttributeConversion.unwrapped(object) {
    case let object as NSManagedObject: return object.value(forKeyPath: keyPath)
    case let dictionary as NSDictionary: return inner(dictionary.object(forKey: keyPath), dictionary.object(forKey:), keyPath)
    case let dictionary as [String: Any]: return inner(dictionary[keyPath], { dictionary[$0] }, keyPath)
    case let members as NSArray: return of(keyPath, inMembers: Array(members))
    case let members as NSSet: return of(keyPath, inMembers: members.allObjects, isSet: true)
    case let members as NSOrderedSet: return of(keyPath, inMembers: members.array, isSet: true)
    case let object? where ReflectedObject.isReadable(object):
      guard let dot = keyPath.firstIndex(of: ".") else { return ReflectedObject.value(keyPath, of: object) }
      return of(String(keyPath[keyPath.index(after: dot)...]), in: ReflectedObject.value(String(keyPath[..<dot]), of: object))
    case let value?:
      let keys = keyPath.split(separator: ".", maxSplits: 1).map(String.init)
      guard let found = FetchConstant(scalar: value).flatMap({ FoundationKeys.value(keys[0], of: $0) }) else { return nil }
      return keys.count == 1 ? found : of(keys[1], in: found)
    case nil: return nil
    }
  }

  /// Returns each member's value, or the result of a collection operator.
  ///
  /// - Parameter isSet: Whether the result is a set, which omits members without a value.
  static func of(_ keyPath: String, inMembers members: [Any], isSet: Bool = false) -> Any? {
    let keys = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let place = keys.firstIndex(where: { $0.hasPrefix("@") }) else {
      let values = members.map { of(keyPath, in: $0) }
      return isSet ? NSSet(array: values.compactMap { $0 }) : values.map { $0 ?? NSNull() }
    }
    func values(_ keys: ArraySlice<String>, of members: [Any]) -> [Any?] {
      keys.isEmpty ? members : members.map { of(keys.joined(separator: "."), in: $0) }
    }
    func parts(_ value: Any) -> [Any] {
      switch value {
      case let list as NSArray: Array(list)
      case let list as [Any]: list
      case let set as NSSet: set.allObjects
      case let set as NSOrderedSet: set.array
      default: [value]
      }
    }
    let members = place == keys.startIndex ? members : values(keys[..<place], of: members).compactMap { $0 }.flatMap(parts)
    let found = values(keys[(place + 1)...], of: members)
    switch keys[place] {
    case "@count": return NSNumber(value: members.count)
    case "@unionOfObjects": return found.compactMap { $0 }
    case "@unionOfArrays", "@unionOfSets": return found.compactMap { $0 }.flatMap(parts)
    case "@distinctUnionOfObjects": return distinct(found.compactMap { $0 })
    case "@distinctUnionOfArrays", "@distinctUnionOfSets": return distinct(found.compactMap { $0 }.flatMap(parts))
    case let name:
      // An operator that cannot be applied returns nil; Apple's systems raise an exception.
      guard let value = try? CollectionOperator.value(of: name, found, keyPath: keyPath) else { return nil }
      return number(value).map { $0 as Any } ?? value
    }
  }

  private static func distinct(_ values: [Any]) -> [Any] {
    var seen: Set<AnyHashable> = []
    return values.filter { value in (value as? AnyHashable).map { seen.insert($0).inserted } ?? true }
  }

  private static func inner(_ whole: Any?, _ value: (String) -> Any?, _ keyPath: String) -> Any? {
    // A key may contain dots.
    if let whole { return AttributeConversion.unwrapped(whole) }
    guard let dot = keyPath.firstIndex(of: ".") else { return nil }
    return of(String(keyPath[keyPath.index(after: dot)...]), in: value(String(keyPath[..<dot])))
  }

  /// Compares two values for sorting. Missing values sort first, and values that cannot be compared are equal.
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

/// The stored properties of objects that are neither managed objects nor values. Apple's systems read them through Objective-C, which Linux
/// lacks.
struct ReflectedObject: KeyedObject {
  let object: Any

  var constant: FetchConstant? { InMemoryValue(object).map { .inMemory($0) } }

  func value(forKey key: String) throws -> Any? {
    guard let value = Self.stored(key, of: object) else {
      throw FetchPredicateError.unknownKey(key: key, keyPath: key, entity: "\(type(of: object))", suggestion: nil)
    }
    return AttributeConversion.unwrapped(value)
  }

  /// Returns the value of a stored property; nil if there is no such property or value.
  static func value(_ name: String, of object: Any) -> Any? { AttributeConversion.unwrapped(stored(name, of: object)) }

  /// Returns the content of a stored property; nil if there is no such property. For managed objects, only the properties of the
  /// application's classes are searched.
  static func stored(_ name: String, of object: Any) -> Any? {
    var mirror: Mirror? = Mirror(reflecting: object)
    while let present = mirror, present.subjectType != NSManagedObject.self {
      if let found = present.children.first(where: { $0.label == name || $0.label == "$__lazy_storage_$_\(name)" }) { return found.value }
      mirror = present.superclassMirror
    }
    return nil
  }

  /// Returns whether a value's stored properties can be read: whether it is an instance of a class outside of Foundation.
  static func isReadable(_ value: Any) -> Bool {
    guard type(of: value) is AnyClass, !(value is ManagedObjectID) else { return false }
    return !String(reflecting: type(of: value)).hasPrefix("Foundation.")
  }
}

/// A managed object for predicates evaluated in memory, which can also use properties that are not in the model.
private struct KeyedManagedObject: KeyedObject {
  let object: NSManagedObject

  var constant: FetchConstant? { .object(object.objectID) }

  func value(forKey key: String) throws -> Any? {
    if key == "objectID" { return object.objectID }
    if let property = object.compiledEntity.property(named: key) {
      let value = object.value(forKey: key)
      if let data = value as? Data, case .attribute(let slot) = property, slot.attributeType == .transformable {
        return ManagedValue.propertyList(of: data) ?? data
      }
      return value
    }
    return try ReflectedObject(object: object).value(forKey: key)
  }
}

/// Reads an application's values for predicates evaluated in memory.
struct ApplicationReading: InMemoryReading {
  func object(_ value: Any) -> (any KeyedObject)? {
    if let object = value as? NSManagedObject { return KeyedManagedObject(object: object) }
    return ReflectedObject.isReadable(value) ? ReflectedObject(object: value) : nil
  }

  func value(forKey key: String, of constant: FetchConstant) -> Any? { FoundationKeys.value(key, of: constant) }
}
