// Unavailable members for key-value observing, with their replacements.
public import Foundation

extension NSManagedObject {
  /// Unavailable: key-value observing is not supported.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public var observationInfo: UnsafeMutableRawPointer? {
    get { nil }
    set {}
  }
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - observer: The observer.
  ///   - keyPath: The key path.
  ///   - options: The values to include in notifications.
  ///   - context: The observer's context.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func addObserver(
    _ observer: NSObject, forKeyPath keyPath: String, options: UInt = 0,
    context: UnsafeMutableRawPointer?
  ) {}
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - observer: The observer.
  ///   - keyPath: The key path.
  @available(*, unavailable, message: "there is no key-value observing; observe NSManagedObjectContextObjectsDidChange")
  public func removeObserver(_ observer: NSObject, forKeyPath keyPath: String) {}
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - key: The relationship's name.
  ///   - mutationKind: The kind of change.
  ///   - objects: The objects added, removed or set.
  @available(*, unavailable, message: "set the relationship, or use its addTo… and removeFrom… methods, or mutableSetValue(forKey:)")
  public func willChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {}
  /// Unavailable: key-value observing is not supported.
  ///
  /// - Parameters:
  ///   - key: The relationship's name.
  ///   - mutationKind: The kind of change.
  ///   - objects: The objects added, removed or set.
  @available(*, unavailable, message: "set the relationship, or use its addTo… and removeFrom… methods, or mutableSetValue(forKey:)")
  public func didChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {}
  /// Unavailable: no property is a mutable array.
  @available(*, unavailable, message: "use mutableSetValue(forKey:) or mutableOrderedSetValue(forKey:)")
  public func mutableArrayValue(forKey key: String) -> NSMutableArray { [] }
}
