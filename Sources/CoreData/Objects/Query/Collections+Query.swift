// Collections+Query: collections filtered by predicates and sorted by descriptors.
public import Foundation

extension NSArray {
  /// The members that meet a condition.
  public func filtered(using predicate: NSPredicate) -> [Any] { filter { predicate.evaluate(with: $0) } }
  /// The members in an order.
  public func sortedArray(using sortDescriptors: [NSSortDescriptor]) -> [Any] { Array(self).sorted(by: sortDescriptors) }
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
