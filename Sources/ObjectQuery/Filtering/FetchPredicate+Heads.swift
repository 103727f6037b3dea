extension FetchPredicate {
  /// The first names of all key paths that start at the evaluated object.
  package var keyPathHeads: Set<String> {
    switch self {
    case .constant, .block: []
    case .and(let items), .or(let items): items.reduce(into: []) { $0.formUnion($1.keyPathHeads) }
    case .not(let item): item.keyPathHeads
    case .comparison(let comparison): comparison.left.keyPathHeads.union(comparison.right.keyPathHeads)
    }
  }
}

extension FetchExpression {
  fileprivate var keyPathHeads: Set<String> {
    switch self {
    case .constant, .evaluatedObject, .variable: []
    case .keyPath(let names): names.first.map { [$0] } ?? []
    case .path(let base, _), .element(let base, _): base.keyPathHeads
    case .aggregate(let items), .function(_, let items): items.reduce(into: []) { $0.formUnion($1.keyPathHeads) }
    case .conditional(let condition, let first, let second):
      condition.keyPathHeads.union(first.keyPathHeads).union(second.keyPathHeads)
    // The inner predicate refers to members.
    case .subquery(let collection, _, _): collection.keyPathHeads
    }
  }
}
