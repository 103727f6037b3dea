import Foundation
import ObjectQuery

extension PredicateExpressions.Conjunction: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.predicate(lhs) && converter.predicate(rhs))
  }
}

extension PredicateExpressions.Disjunction: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.predicate(lhs) || converter.predicate(rhs))
  }
}

extension PredicateExpressions.Negation: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode { .predicate(!(try converter.predicate(wrapped))) }
}

extension PredicateExpressions.Equal: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.comparison(lhs, .equal, rhs))
  }
}

extension PredicateExpressions.NotEqual: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.comparison(lhs, .notEqual, rhs))
  }
}

extension PredicateExpressions.Comparison: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let op: ComparisonOperator =
      switch self.op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw FoundationPredicateConverter.unsupported(Self.self)
      }
    return .predicate(try converter.comparison(lhs, op, rhs))
  }
}

extension PredicateExpressions.Conditional: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let test = try converter.predicate(test)
    guard Output.self == Bool.self else {
      return .expression(.conditional(test, try converter.expression(trueBranch), try converter.expression(falseBranch)))
    }
    let (first, second) = (try converter.predicate(trueBranch), try converter.predicate(falseBranch))
    return .predicate((test && first) || (!test && second))
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let wrapped = try converter.expression(wrapped)
    let inner = converter.binding(variable, to: wrapped)
    let isPresent = FetchPredicate.isNull(wrapped, false)
    switch try inner.node(transform) {
    case .predicate(let predicate): return .optional(predicate, where: isPresent)
    case .optional(let predicate, let presence): return .optional(predicate, where: isPresent && presence)
    // A key path that starts at a missing value has no value anyway.
    case .expression(let expression) where expression.starts(with: wrapped): return .expression(expression)
    case .expression(let expression): return .expression(.conditional(isPresent, expression, .constant(.null)))
    case .members, .range: throw FoundationPredicateConverter.unsupported(Self.self)
    }
  }
}

extension PredicateExpressions.NilCoalesce: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    if case .optional(let predicate, let presence) = try converter.node(lhs) {
      return .predicate((presence && predicate) || (!presence && (try converter.predicate(rhs))))
    }
    return .expression(.function("coalesce", [try converter.expression(lhs), try converter.expression(rhs)]))
  }
}

extension PredicateExpressions.ForcedUnwrap: ConvertibleNode {
  /// Converts the unwrapped node. A missing value stays missing and does not trap.
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode { try converter.node(inner) }
}

extension PredicateExpressions.NilLiteral: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) -> ConvertedNode { .expression(.constant(.null)) }
}

extension FoundationPredicateConverter {
  fileprivate func comparison<Left: PredicateExpression, Right: PredicateExpression>(
    _ left: Left, _ op: ComparisonOperator, _ right: Right
  ) throws -> FetchPredicate {
    FetchPredicate(try expression(left), op, try expression(right))
  }
}

extension FetchExpression {
  /// Returns whether the expression equals another one or continues its path.
  fileprivate func starts(with base: FetchExpression) -> Bool {
    if self == base { return true }
    switch (self, base) {
    case (.keyPath(let names), .keyPath(let start)): return names.starts(with: start)
    case (.path(let inner, let names), .path(let other, let start)) where inner == other: return names.starts(with: start)
    case (.path(let inner, _), _), (.element(let inner, _), _): return inner.starts(with: base)
    default: return false
    }
  }
}
