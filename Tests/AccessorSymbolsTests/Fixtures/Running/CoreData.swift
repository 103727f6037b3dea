// A module named CoreData whose objects store values by name and record calls.
// swift-format-ignore-file
public import Foundation

open class NSManagedObject {
  var values: [String: Any] = [:]
  public init() {}

  public func managedValue<Value>(_ key: borrowing ManagedKey) -> Value {
    guard let value = values[key.name] as? Value else { return Optional<Any>.none as! Value }
    return value
  }
  public func setManagedValue<Value>(_ value: Value, _ key: borrowing ManagedKey) { values[key.name] = value }
  public func managedAdd(_ value: Any, to key: String) { print("add", key) }
  public func managedRemove(_ value: Any, from key: String) { print("remove", key) }
  public func managedInsert(_ value: Any, into key: String, at place: Any) { print("insert", key, place) }
  public func managedRemove(at place: Any, from key: String) { print("remove at", key, place) }
  public func managedReplace(at place: Any, in key: String, with value: Any) { print("replace", key, place) }
}

public struct ManagedKey: ~Copyable, Sendable {
  let name: String
  public init(_ name: String) { self.name = name }
}

public final class NSPredicate { public init() {} }
public final class NSCompoundPredicate { public init() {} }
public final class NSComparisonPredicate { public init() {} }
public final class NSExpression { public init() {} }
public final class NSSortDescriptor { public init() {} }

public struct KeyPathNames {
  public var names: [AnyKeyPath: String] = [:]
  public mutating func add(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath, _ name: String) { (names[keyPath], names[continued]) = (name, name) }
}

public enum EntityClassRegistry {
  public nonisolated(unsafe) static var entered: [String] = []
  public nonisolated(unsafe) static var keyPaths = KeyPathNames()
  public static func enterKeyPaths(_ fill: @escaping @Sendable (inout KeyPathNames) -> Void) { fill(&keyPaths) }
  public static func enter(module: String, _ classes: [String: NSManagedObject.Type]) {
    entered += classes.map { "\(module).\($0.key) \($0.value)" }.sorted()
  }
}
