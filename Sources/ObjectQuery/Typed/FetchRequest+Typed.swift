// FetchRequest+Typed: conditions and orders of requests by typed closures.

extension FetchRequest {
  /// The request with further conditions, which have to hold beside those that it has: each line of the closure is one.
  ///
  /// ```swift
  /// Book.all.where { $0.price > 10 && $0.author.name.hasPrefix("A") }
  /// ```
  public func `where`(@FetchConditionBuilder _ condition: (FetchObject<Result, FetchDirect>) -> FetchPredicate) -> FetchRequest {
    `where`(condition(FetchObject(.evaluatedObject)))
  }

  /// The request with a further condition, which has to hold beside those it has.
  public func `where`(_ condition: FetchCondition<Result>) -> FetchRequest { `where`(condition.predicate) }

  /// The request with a further sort key, after those it has.
  ///
  /// ```swift
  /// Book.all.sorted { $0.title }
  /// ```
  public func sorted<Key: FetchSortable>(_ key: (FetchObject<Result, FetchDirect>) -> Key) -> FetchRequest {
    sorted(by: [key(FetchObject(.evaluatedObject))._fetchSortDescriptor])
  }

  /// The request with two further sort keys, after those it has.
  ///
  /// ```swift
  /// Book.all.sorted { ($0.author.name.ordered(.localized), $0.price.descending) }
  /// ```
  public func sorted<First: FetchSortable, Second: FetchSortable>(
    _ keys: (FetchObject<Result, FetchDirect>) -> (First, Second)
  ) -> FetchRequest {
    let (first, second) = keys(FetchObject(.evaluatedObject))
    return sorted(by: [first._fetchSortDescriptor, second._fetchSortDescriptor])
  }

  /// The request with three further sort keys, after those it has.
  ///
  /// - Parameters:
  ///   - keys: The keys of an object, most significant first.
  public func sorted<First: FetchSortable, Second: FetchSortable, Third: FetchSortable>(
    _ keys: (FetchObject<Result, FetchDirect>) -> (First, Second, Third)
  ) -> FetchRequest {
    let (first, second, third) = keys(FetchObject(.evaluatedObject))
    return sorted(by: [first._fetchSortDescriptor, second._fetchSortDescriptor, third._fetchSortDescriptor])
  }

  private func sorted(by descriptors: [FetchSortDescriptor]) -> FetchRequest {
    var request = self
    request.specification.sortDescriptors += descriptors
    return request
  }
}
