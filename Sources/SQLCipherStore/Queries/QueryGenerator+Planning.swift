import ObjectModel
import ObjectQuery

extension QueryGenerator {
  /// Returns the to-one paths from an object that must have a destination for a condition to be true.
  ///
  /// Their joins can be inner joins, which lets SQLite start at the other end.
  static func requiredSteps(of predicate: ResolvedPredicate, scope: Int) -> Set<[ResolvedStep]> {
    switch predicate {
    case .constant, .or, .exists, .block: return []
    case .and(let items): return items.reduce(into: []) { $0.formUnion(requiredSteps(of: $1, scope: scope)) }
    case .isNull(let expression, let isNegated): return isNegated ? requiredSteps(of: expression, scope: scope) : []
    case .comparison(let comparison):
      guard !comparison.isNegated else { return [] }
      switch comparison.right {
      case .list, .range: return requiredSteps(of: comparison.left, scope: scope)
      case .expression(let right):
        if case .constant = right { return requiredSteps(of: comparison.left, scope: scope) }
        // Two missing values are equal.
        if comparison.op == .equal { return [] }
        return requiredSteps(of: comparison.left, scope: scope).union(requiredSteps(of: right, scope: scope))
      }
    }
  }

  /// Returns the paths that must have a destination for an expression to have a value.
  static func requiredSteps(of expression: ResolvedExpression, scope: Int) -> Set<[ResolvedStep]> {
    switch expression {
    case .path(let path):
      guard path.scope == scope else { return [] }
      return Set(path.steps.indices.map { Array(path.steps[...$0]) })
    case .function(let function, let arguments, _):
      guard !function.takesMissingValues else { return [] }
      return arguments.reduce(into: []) { $0.formUnion(requiredSteps(of: $1, scope: scope)) }
    case .constant, .aggregate, .groupAggregate, .conditional: return []
    }
  }

  /// Returns whether an index finds the few members that meet a condition.
  func isSelective(_ predicate: ResolvedPredicate, scope: Int) -> Bool {
    switch predicate {
    case .and(let items): return items.contains { isSelective($0, scope: scope) }
    case .comparison(let comparison):
      if comparison.op == .search { return isAnsweredByFullText(comparison, scope: scope) }
      guard !comparison.isNegated, !comparison.options.contains(.localeSensitive), comparison.op == .equal || comparison.op == .in,
        case .path(let path) = comparison.left, path.scope == scope
      else { return false }
      if case .expression(let right) = comparison.right {
        guard case .constant = right else { return false }
      }
      switch path.terminal {
      case .attribute(let attribute): return schema.indexed.begins(with: attribute.slot, folding: comparison.options)
      case .object:
        guard let last = path.steps.last else { return true }
        return last.relationship.inverseID != nil
      case .entity: return false
      }
    case .exists(let exists):
      return !exists.isNegated && isSelective(exists.condition, scope: exists.collection.memberScope)
    case .constant, .or, .isNull, .block: return false
    }
  }

  /// Returns whether a condition on a member refers to objects of outer scopes.
  func refersOutside(_ predicate: ResolvedPredicate, scope: Int) -> Bool {
    switch predicate {
    case .constant, .block: return false
    case .and(let items), .or(let items): return items.contains { refersOutside($0, scope: scope) }
    case .isNull(let expression, _): return refersOutside(expression, scope: scope)
    case .exists(let exists): return exists.collection.scope < scope || refersOutside(exists.condition, scope: scope)
    case .comparison(let comparison):
      if refersOutside(comparison.left, scope: scope) { return true }
      switch comparison.right {
      case .list: return false
      case .range(let low, let high): return refersOutside(low, scope: scope) || refersOutside(high, scope: scope)
      case .expression(let right): return refersOutside(right, scope: scope)
      }
    }
  }

  private func refersOutside(_ expression: ResolvedExpression, scope: Int) -> Bool {
    switch expression {
    case .constant, .groupAggregate: return false
    case .path(let path): return path.scope < scope
    case .function(_, let arguments, _): return arguments.contains { refersOutside($0, scope: scope) }
    case .conditional(let condition, let first, let second):
      return refersOutside(condition, scope: scope) || refersOutside(first, scope: scope) || refersOutside(second, scope: scope)
    case .aggregate(let aggregate):
      return aggregate.collection.scope < scope || refersOutside(aggregate.condition, scope: scope)
        || aggregate.value.map { refersOutside($0, scope: scope) } ?? false
    }
  }
}
