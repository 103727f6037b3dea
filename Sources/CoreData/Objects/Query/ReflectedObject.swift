import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery

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
