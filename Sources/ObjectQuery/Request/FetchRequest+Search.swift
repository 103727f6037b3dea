extension FetchPredicate {
  /// An expression for the relevance of an object to the SEARCH conditions of the predicate; nil if there are no such conditions.
  ///
  /// Conditions inside a NOT, on members of a collection, or for a query that is itself a value of the object do not count.
  package var searchRelevance: FetchExpression? {
    guard (try? PredicateDepth.check(self)) != nil else { return nil }
    return searches.reduce(nil) { sum, search in
      let relevance = FetchExpression.function("relevance", [search.left, search.right])
      return sum.map { .function("add:to:", [$0, relevance]) } ?? relevance
    }
  }

  private var searches: [FetchComparison] {
    switch self {
    case .and(let items), .or(let items): return items.flatMap(\.searches)
    case .comparison(let comparison):
      guard comparison.op == .search, comparison.modifier == .direct, case .constant(.string) = comparison.right else { return [] }
      return [comparison]
    case .constant, .not, .block: return []
    }
  }
}

extension FetchRequest {
  /// Returns the request sorted by relevance to its SEARCH conditions, the most relevant first, after the existing sort keys.
  ///
  /// A request without such conditions is returned unchanged.
  ///
  /// ```swift
  /// Package.all.where { $0.summary.search(typed) }.sortedByRelevance()
  /// ```
  public func sortedByRelevance() -> FetchRequest {
    guard let relevance = specification.predicate?.searchRelevance else { return self }
    var request = self
    request.specification.sortDescriptors.append(FetchSortDescriptor(expression: relevance, ascending: false))
    return request
  }
}
