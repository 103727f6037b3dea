extension FetchPredicate {
  /// Returns the predicate applied to the object of an expression. Conditions written in Swift are unchanged.
  func moved(to base: FetchExpression) -> FetchPredicate {
    // A predicate that is nested too deep is rejected when it is used. Here it must not exhaust the stack.
    guard base != .evaluatedObject, (try? PredicateDepth.check(self)) != nil else { return self }
    return PredicateMove(base: base, names: [:]).moved(self)
  }

  /// Returns the predicate with a free variable renamed.
  func renaming(_ variable: String, to name: String) -> FetchPredicate {
    guard variable != name, (try? PredicateDepth.check(self)) != nil else { return self }
    return PredicateMove(base: .evaluatedObject, names: [variable: name]).moved(self)
  }
}

/// Rewrites a predicate for another object. It renames SUBQUERY variables that would capture variables of the new base.
private struct PredicateMove {
  let base: FetchExpression
  var names: [String: String]

  func moved(_ predicate: FetchPredicate) -> FetchPredicate {
    switch predicate {
    case .constant, .block: return predicate
    case .and(let items): return .and(items.map(moved))
    case .or(let items): return .or(items.map(moved))
    case .not(let item): return .not(moved(item))
    case .comparison(var comparison):
      comparison.left = moved(comparison.left)
      comparison.right = moved(comparison.right)
      return .comparison(comparison)
    }
  }

  func moved(_ expression: FetchExpression) -> FetchExpression {
    switch expression {
    case .constant: return expression
    case .evaluatedObject: return base
    case .keyPath(let keys): return base.appending(keys)
    case .variable(let name): return .variable(names[name] ?? name)
    case .path(let inner, let keys): return moved(inner).appending(keys)
    case .aggregate(let items): return .aggregate(items.map(moved))
    case .function(let name, let arguments): return .function(name, arguments.map(moved))
    case .conditional(let condition, let first, let second): return .conditional(moved(condition), moved(first), moved(second))
    case .element(let inner, let index): return .element(moved(inner), index)
    case .subquery(let collection, let variable, let predicate):
      var inner = self
      var name = variable
      let taken = Set(names.values).union([base.rootVariable].compactMap(\.self))
      while taken.contains(name) { name += "_" }
      inner.names[variable] = name == variable ? nil : name
      return .subquery(collection: moved(collection), variable: name, predicate: inner.moved(predicate))
    }
  }
}

extension FetchExpression {
  fileprivate var rootVariable: String? {
    switch self {
    case .variable(let name): name
    case .path(let inner, _), .element(let inner, _): inner.rootVariable
    default: nil
    }
  }
}
