/// Returns the substitute for a variable, or for a key path from it; nil to leave it unchanged.
package typealias VariableValue = (_ name: String, _ path: [String]) throws -> FetchExpression?

extension FetchPredicate {
  /// Returns the predicate with values substituted for variables. Variables without a value, and those that a SUBQUERY binds, are
  /// unchanged.
  ///
  /// - Parameter variables: The values by variable name, without `$`.
  public func withSubstitutionVariables(_ variables: [String: (any FetchConstantConvertible)?]) -> FetchPredicate {
    withSubstitutionExpressions(variables.mapValues { .constant($0?.fetchConstant ?? .null) })
  }

  /// Returns the predicate with expressions substituted for variables, such as a key path for `$key`. If a key path is substituted for
  /// `$x`, then `$x.name` continues that path.
  ///
  /// - Parameter expressions: The expressions by variable name, without `$`.
  public func withSubstitutionExpressions(_ expressions: [String: FetchExpression]) -> FetchPredicate {
    guard expressions.values.allSatisfy(PredicateDepth.allows) else { return self }
    return substituting { name, path in path.isEmpty ? expressions[name] : nil }
  }

  /// The names of the variables that have no value and that no SUBQUERY binds.
  public var variables: Set<String> {
    var names: Set<String> = []
    _ = substituting { name, path in
      if path.isEmpty { names.insert(name) }
      return nil
    }
    return names
  }

  /// Returns the predicate with expressions substituted for free variables and for key paths from them. The path is tried first.
  package func substituting(_ value: VariableValue) rethrows -> FetchPredicate {
    // A predicate that is nested too deep is rejected when it is used. Here it must not exhaust the stack.
    guard (try? PredicateDepth.check(self)) != nil else { return self }
    return try substituting(value, [])
  }

  fileprivate func substituting(_ value: VariableValue, _ bound: Set<String>) rethrows -> FetchPredicate {
    switch self {
    case .constant, .block: return self
    case .and(let items): return .and(try items.map { try $0.substituting(value, bound) })
    case .or(let items): return .or(try items.map { try $0.substituting(value, bound) })
    case .not(let item): return .not(try item.substituting(value, bound))
    case .comparison(var comparison):
      comparison.left = try comparison.left.substituting(value, bound)
      comparison.right = try comparison.right.substituting(value, bound)
      return .comparison(comparison)
    }
  }
}

extension FetchExpression {
  /// Returns the expression with expressions substituted for free variables and for key paths from them. The path is tried first.
  package func substituting(_ value: VariableValue) rethrows -> FetchExpression {
    guard PredicateDepth.allows(self) else { return self }
    return try substituting(value, [])
  }

  fileprivate func substituting(_ value: VariableValue, _ bound: Set<String>) rethrows -> FetchExpression {
    switch self {
    case .constant, .evaluatedObject, .keyPath: return self
    case .variable(let name):
      return bound.contains(name) ? self : try value(name, []) ?? self
    case .path(let base, let names):
      if case .variable(let name) = base, !bound.contains(name), let whole = try value(name, names) { return whole }
      let result = try base.substituting(value, bound)
      // Keys after a path that replaced a variable extend that path.
      switch (base, result) {
      case (.variable, .keyPath(let first)): return .keyPath(first + names)
      case (.variable, .path(let start, let first)): return .path(start, first + names)
      default: return .path(result, names)
      }
    case .aggregate(let items):
      let items = try items.map { try $0.substituting(value, bound) }
      let constants = items.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
    case .function(let name, let arguments): return .function(name, try arguments.map { try $0.substituting(value, bound) })
    case .subquery(let collection, let variable, let predicate):
      return .subquery(
        collection: try collection.substituting(value, bound), variable: variable,
        predicate: try predicate.substituting(value, bound.union([variable])))
    case .conditional(let condition, let first, let second):
      return .conditional(
        try condition.substituting(value, bound), try first.substituting(value, bound), try second.substituting(value, bound))
    case .element(let base, let index): return .element(try base.substituting(value, bound), index)
    }
  }
}
