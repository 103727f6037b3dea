public import Foundation

extension NSArray {
  /// Returns the members that match a predicate.
  public func filtered(using predicate: NSPredicate) -> [Any] { filter { predicate.evaluate(with: $0) } }
  /// Returns the members sorted by descriptors.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { Array(self).sorted(by: sortDescriptors) }
}

// Key-value coding, which Foundation supports only on Apple's systems.

extension NSArray {
  /// Returns the members' values for a key; `NSNull` for members without a value.
  public func value(forKey key: String) -> Any? { KeyedValue.of(key, inMembers: Array(self)) }
  /// Returns the members' values at a key path, or the result of an operator such as `@sum.pages`.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, inMembers: Array(self)) }
}

extension NSSet {
  /// Returns the set of the members' values for a key.
  public func value(forKey key: String) -> Any? { KeyedValue.of(key, inMembers: allObjects, isSet: true) }
  /// Returns the set of the members' values at a key path, or the result of an operator such as `@sum.pages`.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, inMembers: allObjects, isSet: true) }
}

extension NSOrderedSet {
  /// Returns the set of the members' values for a key.
  public func value(forKey key: String) -> Any? { KeyedValue.of(key, inMembers: array, isSet: true) }
  /// Returns the set of the members' values at a key path, or the result of an operator such as `@sum.pages`.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, inMembers: array, isSet: true) }
}

extension NSDictionary {
  /// Returns the value at a dotted key path.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, in: self) }
}

extension NSMutableArray {
  /// Removes the members that do not match a predicate.
  public func filter(using predicate: NSPredicate) { setArray(filtered(using: predicate)) }
  /// Sorts the members by descriptors.
  public func sort(using sortDescriptors: [NSSortDescriptor]) { setArray(sortedArray(using: sortDescriptors)) }
}

extension NSSet {
  /// Returns the members that match a predicate.
  public func filtered(using predicate: NSPredicate) -> Set<AnyHashable> {
    Set(allObjects.filter { predicate.evaluate(with: $0) }.compactMap { $0 as? AnyHashable })
  }
  /// Returns the members sorted by descriptors.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { allObjects.sorted(by: sortDescriptors) }
}

extension NSOrderedSet {
  /// Returns the members that match a predicate.
  public func filtered(using predicate: NSPredicate) -> NSOrderedSet { NSOrderedSet(array: array.filter { predicate.evaluate(with: $0) }) }
  /// Returns the members sorted by descriptors.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { array.sorted(by: sortDescriptors) }
}

extension [Any] {
  /// Returns the elements sorted by descriptors. The sort is stable.
  fileprivate func sorted(by descriptors: [NSSortDescriptor]) -> [Any] {
    let places = enumerated().sorted { one, other in
      for descriptor in descriptors {
        switch descriptor.compare(one.element, to: other.element) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return one.offset < other.offset
    }
    return places.map(\.element)
  }
}
