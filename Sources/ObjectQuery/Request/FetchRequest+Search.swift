// FetchRequest+Search: results in the order of their relevance to what is searched for.

extension FetchPredicate {
  /// How much of what the request's SEARCH conditions look for is in an object, as an expression to order by. Conditions behind a NOT, about members of a
  /// collection, or for a value of the object do not count; nil where the request has no others.
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
  /// The request with its results in the order of their relevance to what its SEARCH conditions look for, the most relevant first, behind the sort keys that it
  /// has. A request without such conditions stays as it is.
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
