// AbsentObserving: what observes keys of objects, with what to do instead.
public import Foundation

extension NSManagedObject {
  /// Absent: there is no key-value observing.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public var observationInfo: UnsafeMutableRawPointer? {
    get { nil }
    set {}
  }
  /// Absent: there is no key-value observing.
  ///
  /// - Parameters:
  ///   - observer: Who would be told.
  ///   - keyPath: The path.
  ///   - options: What would be told.
  ///   - context: What the observer would be given.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func addObserver(
    _ observer: NSObject, forKeyPath keyPath: String, options: UInt = 0,
    context: UnsafeMutableRawPointer?
  ) {}
  /// Absent: there is no key-value observing.
  ///
  /// - Parameters:
  ///   - observer: Who is told no more.
  ///   - keyPath: The path.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func removeObserver(_ observer: NSObject, forKeyPath keyPath: String) {}
  /// Absent: there is no key-value observing.
  ///
  /// - Parameters:
  ///   - key: The relationship's name.
  ///   - mutationKind: How it changes.
  ///   - objects: By which objects.
  @available(*, unavailable, message: "set the relationship, or use its addTo… and removeFrom… methods, or mutableSetValue(forKey:)")
  public func willChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {}
  /// Absent: there is no key-value observing.
  ///
  /// - Parameters:
  ///   - key: The relationship's name.
  ///   - mutationKind: How it changes.
  ///   - objects: By which objects.
  @available(*, unavailable, message: "set the relationship, or use its addTo… and removeFrom… methods, or mutableSetValue(forKey:)")
  public func didChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {}
  /// Absent: no property is an array with members of its own.
  @available(*, unavailable, message: "use mutableSetValue(forKey:) or mutableOrderedSetValue(forKey:)")
  public func mutableArrayValue(forKey key: String) -> NSMutableArray { [] }
}
