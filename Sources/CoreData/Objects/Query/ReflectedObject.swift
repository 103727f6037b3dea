// ReflectedObject: stored properties of an application's own objects, which conditions and orders name by key paths.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery

/// The stored properties of objects that are neither managed objects nor values. Apple's systems read them by Objective-C, which Linux lacks.
struct ReflectedObject: KeyedObject {
  let object: Any

  var constant: FetchConstant? { InMemoryValue(object).map { .inMemory($0) } }

  func value(forKey key: String) throws -> Any? {
    guard let value = Self.stored(key, of: object) else {
      throw FetchPredicateError.unknownKey(key: key, keyPath: key, entity: "\(type(of: object))", suggestion: nil)
    }
    return AttributeConversion.unwrapped(value)
  }

  /// The value of a stored property; nil where the object has none of the name, or no value there.
  static func value(_ name: String, of object: Any) -> Any? { AttributeConversion.unwrapped(stored(name, of: object)) }

  /// The content of a stored property; nil where the object has none of the name. The classes of managed objects end with the application's own.
  static func stored(_ name: String, of object: Any) -> Any? {
    var mirror: Mirror? = Mirror(reflecting: object)
    while let present = mirror, present.subjectType != NSManagedObject.self {
      if let found = present.children.first(where: { $0.label == name || $0.label == "$__lazy_storage_$_\(name)" }) { return found.value }
      mirror = present.superclassMirror
    }
    return nil
  }

  /// Whether stored properties of a value may be asked for: it is an instance of a class that is not Foundation's.
  static func isReadable(_ value: Any) -> Bool {
    guard type(of: value) is AnyClass, !(value is ManagedObjectID) else { return false }
    return !String(reflecting: type(of: value)).hasPrefix("Foundation.")
  }
}

/// A managed object as predicates read it that no store answers: also by what its class declares beyond the model.
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

/// How predicates read an application's values in memory.
struct ApplicationReading: InMemoryReading {
  func object(_ value: Any) -> (any KeyedObject)? {
    if let object = value as? NSManagedObject { return KeyedManagedObject(object: object) }
    return ReflectedObject.isReadable(value) ? ReflectedObject(object: value) : nil
  }

  func value(forKey key: String, of constant: FetchConstant) -> Any? { FoundationKeys.value(key, of: constant) }
}
