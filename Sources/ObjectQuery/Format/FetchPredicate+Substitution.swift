// FetchPredicate+Substitution: values for variables.

extension FetchPredicate {
  /// The predicate with values in place of variables; variables without a value, and those that a SUBQUERY binds, stay.
  ///
  /// - Parameter variables: The values by the variables' names, without `$`.
  public func withSubstitutionVariables(_ variables: [String: (any FetchConstantConvertible)?]) -> FetchPredicate {
    withSubstitutionExpressions(variables.mapValues { .constant($0?.fetchConstant ?? .null) })
  }

  /// The predicate with expressions in place of variables, such as a key path for `$key`; with a key path for `$x`, `$x.name` goes on behind it.
  ///
  /// - Parameter expressions: The expressions by the variables' names, without `$`.
  public func withSubstitutionExpressions(_ expressions: [String: FetchExpression]) -> FetchPredicate {
    // What is nested too deep is refused when it is used; here it must not exhaust the stack.
    guard (try? PredicateDepth.check(self)) != nil, expressions.values.allSatisfy(PredicateDepth.allows) else { return self }
    return substituting(expressions)
  }

  fileprivate func substituting(_ values: [String: FetchExpression]) -> FetchPredicate {
    switch self {
    case .constant, .block: self
    case .and(let items): .and(items.map { $0.substituting(values) })
    case .or(let items): .or(items.map { $0.substituting(values) })
    case .not(let item): .not(item.substituting(values))
    case .comparison(var comparison):
      {
        comparison.left = comparison.left.substituting(values)
        comparison.right = comparison.right.substituting(values)
        return .comparison(comparison)
      }()
    }
  }
}

extension FetchExpression {
  fileprivate func substituting(_ values: [String: FetchExpression]) -> FetchExpression {
    switch self {
    case .constant, .evaluatedObject, .keyPath: return self
    case .variable(let name): return values[name] ?? self
    case .path(let base, let names):
      let result = base.substituting(values)
      // Keys behind a path that took a variable's place belong to it.
      switch (base, result) {
      case (.variable, .keyPath(let first)): return .keyPath(first + names)
      case (.variable, .path(let start, let first)): return .path(start, first + names)
      default: return .path(result, names)
      }
    case .aggregate(let items):
      let items = items.map { $0.substituting(values) }
      let constants = items.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
    case .function(let name, let arguments): return .function(name, arguments.map { $0.substituting(values) })
    case .subquery(let collection, let variable, let predicate):
      var inner = values
      inner[variable] = nil
      return .subquery(collection: collection.substituting(values), variable: variable, predicate: predicate.substituting(inner))
    case .conditional(let condition, let first, let second):
      return .conditional(condition.substituting(values), first.substituting(values), second.substituting(values))
    case .element(let base, let index): return .element(base.substituting(values), index)
    }
  }
}
