import ObjectModel

extension Sequence where Element: FetchConstantConvertible {
  /// Returns the elements sorted by descriptors, which refer to each as `SELF`: `try names.sorted(using: [FetchSortDescriptor("SELF",
  /// comparison: .localizedStandard)])`. The sort is stable.
  ///
  /// - Throws: ``FetchPredicateError`` if an element has no such value.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    try DictionaryEvaluator.sorted(self, using: descriptors) { try DictionaryValue($0, at: "SELF") }
  }

  /// Returns the elements sorted by a descriptor: `try names.sorted(using: FetchSortDescriptor("SELF"))`.
  ///
  /// - Throws: ``FetchPredicateError`` if an element has no such value.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }
}

extension Sequence where Element == [String: Any] {
  /// Returns the dictionaries sorted by descriptors. The sort is stable. Missing values come first in ascending order.
  ///
  /// - Throws: ``FetchPredicateError`` if a descriptor refers to a value without an order, such as a list.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    try DictionaryEvaluator.sorted(self, using: descriptors) { .object(DictionaryObject($0)) }
  }

  /// Returns the dictionaries sorted by a descriptor.
  ///
  /// - Throws: ``FetchPredicateError`` if the descriptor refers to a value without an order, such as a list.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }
}

extension DictionaryEvaluator {
  /// Returns the elements sorted by descriptors. Each value is read once.
  fileprivate static func sorted<Element>(
    _ elements: some Sequence<Element>, using descriptors: [FetchSortDescriptor], _ value: (Element) throws -> DictionaryValue
  ) throws -> [Element] {
    let rows = try elements.enumerated().map { position, element in
      let evaluator = DictionaryEvaluator(try value(element))
      return (position: position, element: element, values: try descriptors.map { try evaluator.slot(of: $0.expression) })
    }
    return rows.sorted { left, right in
      for (index, descriptor) in descriptors.enumerated() {
        let order = SlotOrder.compare(left.values[index], right.values[index], by: descriptor.textOrder)
        if order != 0 { return (order < 0) == descriptor.isAscending }
      }
      return left.position < right.position
    }.map(\.element)
  }
}
