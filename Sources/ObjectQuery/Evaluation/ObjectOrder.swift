// ObjectOrder: the order of a fetch's results in memory.
package import ObjectModel

/// Orders objects by a resolved fetch's sort keys.
package struct ObjectOrder<Resolver: ObjectResolver> {
  private let keys: [ResolvedSortKey]
  private let evaluator: PredicateEvaluator<Resolver>

  /// Makes the order of a resolved fetch.
  package init(_ fetch: ResolvedFetch, resolver: Resolver) {
    keys = fetch.sortKeys
    evaluator = PredicateEvaluator(predicate: .constant(true), constants: fetch.constants, resolver: resolver)
  }

  /// The values that an object is ordered by.
  package func values(of object: Resolver.Object) throws -> [Slot] {
    try keys.map { try evaluator.value(of: $0.expression, for: object) }
  }

  /// The order of two objects' values: negative, zero or positive.
  package func compare(_ left: [Slot], _ right: [Slot]) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[index], right[index], by: key.order)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return 0
  }

  /// The objects in order; equal ones keep theirs. Each object's values are read once.
  package func sorted(_ objects: [Resolver.Object]) throws -> [Resolver.Object] {
    guard !keys.isEmpty else { return objects }
    let rows = try objects.enumerated().map { (position: $0, object: $1, values: try values(of: $1)) }
    return rows.sorted { left, right in
      let order = compare(left.values, right.values)
      return order == 0 ? left.position < right.position : order < 0
    }.map(\.object)
  }
}

/// The order of two values of one attribute as sort keys define it.
package enum SlotOrder {
  /// The order of two values: negative, zero or positive. No value comes first; texts that are alike in the order follow their bytes.
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
