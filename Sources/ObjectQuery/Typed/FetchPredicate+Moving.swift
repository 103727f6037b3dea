// FetchPredicate+Moving: a predicate about one object as a predicate about another, at the end of a path or behind a variable.

extension FetchPredicate {
  /// The predicate, asked about the object that an expression stands for. Conditions written in Swift stay as they are.
  func moved(to base: FetchExpression) -> FetchPredicate {
    // What is nested too deep is refused when it is used; here it must not exhaust the stack.
    guard base != .evaluatedObject, (try? PredicateDepth.check(self)) != nil else { return self }
    return PredicateMove(base: base, names: [:]).moved(self)
  }

  /// The predicate with another name for a free variable.
  func renaming(_ variable: String, to name: String) -> FetchPredicate {
    guard variable != name, (try? PredicateDepth.check(self)) != nil else { return self }
    return PredicateMove(base: .evaluatedObject, names: [variable: name]).moved(self)
  }
}

/// The walk through a predicate. Variables of SUBQUERYs that would catch those of the new place get other names.
private struct PredicateMove {
  let base: FetchExpression
  /// The new names of variables.
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
  /// The variable that a path starts from.
  fileprivate var rootVariable: String? {
    switch self {
    case .variable(let name): name
    case .path(let inner, _), .element(let inner, _): inner.rootVariable
    default: nil
    }
  }
}
