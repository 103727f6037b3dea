extension FetchRequest {
  /// Returns the request with additional conditions, one for each line of the closure, combined with the existing predicate by AND.
  ///
  /// ```swift
  /// Book.all.where { $0.price > 10 && $0.author.name.hasPrefix("A") }
  /// ```
  public func `where`(@FetchConditionBuilder _ condition: (FetchObject<Result, FetchDirect>) -> FetchPredicate) -> FetchRequest {
    `where`(condition(FetchObject(.evaluatedObject)))
  }

  /// Returns the request with an additional condition, combined with the existing predicate by AND.
  public func `where`(_ condition: FetchCondition<Result>) -> FetchRequest { `where`(condition.predicate) }

  /// Returns the request with an additional sort key after the existing ones.
  ///
  /// ```swift
  /// Book.all.sorted { $0.title }
  /// ```
  public func sorted<Key: FetchSortable>(_ key: (FetchObject<Result, FetchDirect>) -> Key) -> FetchRequest {
    sorted(by: [key(FetchObject(.evaluatedObject)).fetchSortDescriptor])
  }

  /// Returns the request with two additional sort keys after the existing ones.
  ///
  /// ```swift
  /// Book.all.sorted { ($0.author.name.ordered(.localized), $0.price.descending) }
  /// ```
  public func sorted<First: FetchSortable, Second: FetchSortable>(
    _ keys: (FetchObject<Result, FetchDirect>) -> (First, Second)
  ) -> FetchRequest {
    let (first, second) = keys(FetchObject(.evaluatedObject))
    return sorted(by: [first.fetchSortDescriptor, second.fetchSortDescriptor])
  }

  /// Returns the request with three additional sort keys after the existing ones.
  ///
  /// - Parameters:
  ///   - keys: Returns the sort keys of an object, most significant first.
  public func sorted<First: FetchSortable, Second: FetchSortable, Third: FetchSortable>(
    _ keys: (FetchObject<Result, FetchDirect>) -> (First, Second, Third)
  ) -> FetchRequest {
    let (first, second, third) = keys(FetchObject(.evaluatedObject))
    return sorted(by: [first.fetchSortDescriptor, second.fetchSortDescriptor, third.fetchSortDescriptor])
  }

  private func sorted(by descriptors: [FetchSortDescriptor]) -> FetchRequest {
    var request = self
    request.specification.sortDescriptors += descriptors
    return request
  }
}
