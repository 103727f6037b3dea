// Collections+Query: collections filtered by predicates and sorted by descriptors.
public import Foundation

extension NSArray {
  /// The members that meet a condition.
  public func filtered(using predicate: NSPredicate) -> [Any] { filter { predicate.evaluate(with: $0) } }
  /// The members in an order.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { Array(self).sorted(by: sortDescriptors) }
}

// Values by keys and key paths, which Foundation has on Apple's systems alone.

extension NSArray {
  /// The values of the members, `NSNull` for one without.
  public func value(forKey key: String) -> Any? { KeyedValue.of(key, inMembers: Array(self)) }
  /// The values of the members, or what an operator such as `@sum.pages` computes of them.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, inMembers: Array(self)) }
}

extension NSSet {
  /// The set of the members' values.
  public func value(forKey key: String) -> Any? { KeyedValue.of(key, inMembers: allObjects, isSet: true) }
  /// The set of the members' values, or what an operator such as `@sum.pages` computes of them.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, inMembers: allObjects, isSet: true) }
}

extension NSOrderedSet {
  /// The set of the members' values.
  public func value(forKey key: String) -> Any? { KeyedValue.of(key, inMembers: array, isSet: true) }
  /// The set of the members' values, or what an operator such as `@sum.pages` computes of them.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, inMembers: array, isSet: true) }
}

extension NSDictionary {
  /// The value at the end of a dotted path of keys.
  public func value(forKeyPath keyPath: String) -> Any? { KeyedValue.of(keyPath, in: self) }
}

extension NSMutableArray {
  /// Keeps the members that meet a condition.
  public func filter(using predicate: NSPredicate) { setArray(filtered(using: predicate)) }
  /// Puts the members in an order.
  public func sort(using sortDescriptors: [NSSortDescriptor]) { setArray(sortedArray(using: sortDescriptors)) }
}

extension NSSet {
  /// The members that meet a condition.
  public func filtered(using predicate: NSPredicate) -> Set<AnyHashable> {
    Set(allObjects.filter { predicate.evaluate(with: $0) }.compactMap { $0 as? AnyHashable })
  }
  /// The members in an order.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { allObjects.sorted(by: sortDescriptors) }
}

extension NSOrderedSet {
  /// The members that meet a condition.
  public func filtered(using predicate: NSPredicate) -> NSOrderedSet { NSOrderedSet(array: array.filter { predicate.evaluate(with: $0) }) }
  /// The members in an order.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { array.sorted(by: sortDescriptors) }
}

extension [Any] {
  /// Sorted by descriptors; equal members stay as they stood.
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
