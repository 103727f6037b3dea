/// The source expressions and conditions on the evaluated object, by their resolved form. With them, parts of a fetch can be fetched
/// separately.
package struct ResolutionSources: Sendable {
  private var expressions: [ResolvedExpression: FetchExpression] = [:]
  private var predicates: [ResolvedPredicate: FetchPredicate] = [:]

  mutating func record(_ resolved: ResolvedExpression, _ source: FetchExpression) {
    if expressions[resolved] == nil { expressions[resolved] = source }
  }

  mutating func record(_ resolved: ResolvedPredicate, _ source: FetchPredicate) {
    if predicates[resolved] == nil { predicates[resolved] = source }
  }

  /// The source of a resolved expression; nil if it is only a part of one.
  package subscript(expression: ResolvedExpression) -> FetchExpression? { expressions[expression] }
  /// The source of a resolved condition.
  package subscript(predicate: ResolvedPredicate) -> FetchPredicate? { predicates[predicate] }
}

extension ResolvedExpression {
  /// Whether the expression contains a group aggregate. The limit of predicate nesting bounds the recursion.
  package var hasGroupAggregate: Bool {
    switch self {
    case .groupAggregate: true
    case .constant, .path, .aggregate: false
    case .function(_, let arguments, _): arguments.contains { $0.hasGroupAggregate }
    case .conditional(let condition, let first, let second):
      condition.hasGroupAggregate || first.hasGroupAggregate || second.hasGroupAggregate
    }
  }
}

extension ResolvedPredicate {
  /// Whether the predicate contains a group aggregate.
  package var hasGroupAggregate: Bool {
    switch self {
    case .constant, .exists, .block: false
    case .and(let items), .or(let items): items.contains { $0.hasGroupAggregate }
    case .isNull(let expression, _): expression.hasGroupAggregate
    case .comparison(let comparison):
      switch comparison.right {
      case .expression(let right): comparison.left.hasGroupAggregate || right.hasGroupAggregate
      case .range(let low, let high): comparison.left.hasGroupAggregate || low.hasGroupAggregate || high.hasGroupAggregate
      case .list: comparison.left.hasGroupAggregate
      }
    }
  }
}
