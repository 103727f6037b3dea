// Sequence+Sorting: texts, numbers and dictionaries sorted as a fetch would.
import ObjectModel

extension Sequence where Element: FetchConstantConvertible {
  /// The elements in the order of descriptors, which call each `SELF`: `try names.sorted(using: [FetchSortDescriptor("SELF", comparison: .localizedStandard)])`. Equal ones
  /// keep theirs.
  ///
  /// - Throws: ``FetchPredicateError`` where an element has no such value.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    try DictionaryEvaluator.sorted(self, using: descriptors) { try DictionaryValue($0, at: "SELF") }
  }

  /// The elements in the order of one descriptor: `try names.sorted(using: FetchSortDescriptor("SELF"))`.
  ///
  /// - Throws: ``FetchPredicateError`` where an element has no such value.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }
}

extension Sequence where Element == [String: Any] {
  /// The dictionaries in the order of descriptors; equal ones keep theirs, and those without a value come first where the order ascends.
  ///
  /// - Throws: ``FetchPredicateError`` where a descriptor names something that has no order, such as a list.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    try DictionaryEvaluator.sorted(self, using: descriptors) { .object(DictionaryObject($0)) }
  }

  /// The dictionaries in the order of one descriptor.
  ///
  /// - Throws: ``FetchPredicateError`` where the descriptor names something that has no order, such as a list.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }
}

extension DictionaryEvaluator {
  /// Sorts what descriptors can be asked of. Each value is read once.
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
