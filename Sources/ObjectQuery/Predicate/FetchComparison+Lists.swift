extension FetchComparison {
  /// The equivalent `value IN list` for `list CONTAINS value`; nil for other comparisons.
  var inverted: FetchComparison? {
    guard op == .contains, modifier == .direct, left.listItems != nil else { return nil }
    return FetchComparison(left: right, op: .in, right: left, options: options)
  }

  /// The predicate with one comparison for each member, for ANY, ALL and NONE of a literal list; nil for other comparisons.
  var expanded: FetchPredicate? {
    guard modifier != .direct, let items = left.listItems else { return nil }
    let members = items.map { FetchPredicate.comparison(FetchComparison(left: $0, op: op, right: right, options: options)) }
    return switch modifier {
    case .all: .and(members)
    case .none: .not(.or(members))
    default: .or(members)
    }
  }
}

extension FetchExpression {
  /// The members of a list that is a literal or an argument; nil for other expressions.
  fileprivate var listItems: [FetchExpression]? {
    switch self {
    case .constant(.list(let items)): items.map { .constant($0) }
    case .aggregate(let items): items
    default: nil
    }
  }
}
