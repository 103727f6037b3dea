extension FetchPredicate {
  /// Returns the predicate with expressions substituted for the names of dictionary columns, both `n` and `$n`. Arguments of aggregates
  /// refer to objects, so a name there is a property.
  func replacing(_ names: [String: FetchExpression]) -> FetchPredicate {
    switch self {
    case .constant, .block: return self
    case .and(let items): return .and(items.map { $0.replacing(names) })
    case .or(let items): return .or(items.map { $0.replacing(names) })
    case .not(let item): return .not(item.replacing(names))
    case .comparison(var comparison):
      comparison.left = comparison.left.replacing(names)
      comparison.right = comparison.right.replacing(names)
      return .comparison(comparison)
    }
  }
}

extension FetchExpression {
  /// Returns the expression with expressions substituted for names.
  func replacing(_ names: [String: FetchExpression]) -> FetchExpression {
    switch self {
    case .constant, .evaluatedObject: return self
    case .keyPath(let keys): return names[keys.joined(separator: ".")] ?? self
    case .variable(let name): return names[name] ?? self
    case .path(let base, let keys): return .path(base.replacing(names), keys)
    case .aggregate(let items): return .aggregate(items.map { $0.replacing(names) })
    case .function(let name, let arguments):
      if arguments.count == 1, !arguments[0].isList, ResolvedFunction(name: name)?.listFunction != nil { return self }
      return .function(name, arguments.map { $0.replacing(names) })
    case .subquery(let collection, let variable, let predicate):
      var inner = names
      inner[variable] = nil
      return .subquery(collection: collection, variable: variable, predicate: predicate.replacing(inner))
    case .conditional(let condition, let first, let second):
      return .conditional(condition.replacing(names), first.replacing(names), second.replacing(names))
    case .element(let base, let index): return .element(base.replacing(names), index)
    }
  }

  var isList: Bool {
    switch self {
    case .constant(.list), .aggregate: true
    default: false
    }
  }
}
