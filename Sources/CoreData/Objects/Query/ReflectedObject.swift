// ReflectedObject: stored properties of an application's own objects, which conditions and orders name by key paths.
import Foundation
import ObjectContext
import ObjectModel

/// The stored properties of objects that are neither managed objects nor values. Apple's systems read them by Objective-C, which Linux lacks.
enum ReflectedObject {
  /// How many objects a path leads through at most.
  private static let depth = 8

  /// The value of a stored property; nil where the object has none of the name, or no value there.
  static func value(_ name: String, of object: Any) -> Any? {
    var mirror: Mirror? = Mirror(reflecting: object)
    while let present = mirror {
      if let found = present.children.first(where: { $0.label == name }) { return AttributeConversion.unwrapped(found.value) }
      mirror = present.superclassMirror
    }
    return nil
  }

  /// Whether stored properties of a value may be asked for: it is an instance of a class that is not Foundation's.
  static func isReadable(_ value: Any) -> Bool {
    guard type(of: value) is AnyClass else { return false }
    return !String(reflecting: type(of: value)).hasPrefix("Foundation.")
  }

  /// An object as a dictionary of its properties, which conditions are evaluated with.
  ///
  /// - Parameter names: The names that the condition begins paths with.
  static func dictionary(of object: Any, names: Set<String>) -> [String: Any] {
    names.reduce(into: [:]) { values, name in values[name] = value(name, of: object).map { nested($0, depth) } }
  }

  private static func nested(_ value: Any, _ depth: Int) -> Any {
    switch value {
    case let members as [Any]: return members.map { nested($0, depth) }
    case let members as NSArray: return members.map { nested($0, depth) }
    case let members as NSSet: return members.allObjects.map { nested($0, depth) }
    case let members as NSOrderedSet: return members.array.map { nested($0, depth) }
    default: break
    }
    guard depth > 0, isReadable(value), !(value is ManagedObject) else { return value }
    var values: [String: Any] = [:]
    var mirror: Mirror? = Mirror(reflecting: value)
    while let present = mirror {
      for child in present.children {
        if let name = child.label, let inner = AttributeConversion.unwrapped(child.value) { values[name] = nested(inner, depth - 1) }
      }
      mirror = present.superclassMirror
    }
    return values
  }
}
