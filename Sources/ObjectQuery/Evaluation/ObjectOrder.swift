package import ObjectModel

/// The in-memory order of objects by a resolved fetch's sort keys.
package struct ObjectOrder<Resolver: ObjectResolver> {
  private let keys: [ResolvedSortKey]
  private let evaluator: PredicateEvaluator<Resolver>

  /// Creates the order of a resolved fetch.
  package init(_ fetch: ResolvedFetch, resolver: Resolver) {
    keys = fetch.sortKeys
    evaluator = PredicateEvaluator(predicate: .constant(true), constants: fetch.constants, resolver: resolver)
  }

  /// Returns the values that an object is sorted by.
  package func values(of object: Resolver.Object) throws -> [Slot] {
    try keys.map { try evaluator.value(of: $0.expression, for: object) }
  }

  /// Returns the order of two objects' values: negative, zero or positive.
  package func compare(_ left: [Slot], _ right: [Slot]) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[index], right[index], by: key.order)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return 0
  }

  /// Returns the objects in order. The sort is stable, and reads each object's values once.
  package func sorted(_ objects: [Resolver.Object]) throws -> [Resolver.Object] {
    guard !keys.isEmpty else { return objects }
    let rows = try objects.enumerated().map { (position: $0, object: $1, values: try values(of: $1)) }
    return rows.sorted { left, right in
      let order = compare(left.values, right.values)
      return order == 0 ? left.position < right.position : order < 0
    }.map(\.object)
  }
}

/// The order of two values of one attribute in sort keys.
package enum SlotOrder {
  /// Returns the order of two values: negative, zero or positive. A missing value comes first. Strings that compare as equal are ordered by
  /// their bytes.
  package static func compare(_ left: Slot, _ right: Slot, by textOrder: TextOrder = .binary) -> Int {
    switch (SlotComparison.isMissing(left), SlotComparison.isMissing(right)) {
    case (true, true): return 0
    case (true, false): return -1
    case (false, true): return 1
    case (false, false): break
    }
    guard textOrder != .binary, case .text(let first) = left, case .text(let second) = right else {
      return SlotComparison.compare(left, right)
    }
    return textOrder.compare(first, second)
  }
}
