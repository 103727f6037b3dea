// ResolutionSources: what the parts of a resolved fetch were made of, so that each can be asked by itself.

/// The expressions and conditions on the object asked about, by what they were resolved to.
package struct ResolutionSources: Sendable {
  private var expressions: [ResolvedExpression: FetchExpression] = [:]
  private var predicates: [ResolvedPredicate: FetchPredicate] = [:]

  mutating func note(_ resolved: ResolvedExpression, _ source: FetchExpression) {
    if expressions[resolved] == nil { expressions[resolved] = source }
  }

  mutating func note(_ resolved: ResolvedPredicate, _ source: FetchPredicate) {
    if predicates[resolved] == nil { predicates[resolved] = source }
  }

  /// What an expression was made of; nil for what stands for a part of one.
  package subscript(expression: ResolvedExpression) -> FetchExpression? { expressions[expression] }
  /// What a condition was made of.
  package subscript(predicate: ResolvedPredicate) -> FetchPredicate? { predicates[predicate] }
}

extension ResolvedExpression {
  /// Whether an aggregate of groups is a part of it. Recursion is bounded as the predicate's nesting is.
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
  /// Whether an aggregate of groups is a part of it.
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
