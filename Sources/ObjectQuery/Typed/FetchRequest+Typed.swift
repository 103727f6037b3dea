public import Foundation

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

// MARK: - Requests by key path

extension FetchRequest {
  /// Returns the request with an additional sort key after the existing ones: `Book.all.sorted(by: \.author.name).sorted(by: \.pages,
  /// order: .reverse)`.
  ///
  /// The key path starts at the object of the typed query, and must end in a value that can be sorted by.
  ///
  /// - Parameters:
  ///   - keyPath: The value to sort by.
  ///   - order: Whether lower or higher values come first.
  public func sorted<Key: FetchSortable>(by keyPath: KeyPath<FetchObject<Result, FetchDirect>, Key>, order: SortOrder = .forward)
    -> FetchRequest
  {
    let key = FetchObject<Result, FetchDirect>(.evaluatedObject)[keyPath: keyPath]
    return sorted { _ in order == .forward ? key.fetchSortDescriptor : key.descending }
  }
}

/// Sort keys for the properties of classes that declare their entities in Swift.
extension FetchRequest where Result: FetchKeyPathNaming {
  /// Returns the request with an additional sort key after the existing ones: `Book.all.sorted(by: \.author?.name).sorted(by: \.pages,
  /// order: .reverse)`.
  ///
  /// - Parameters:
  ///   - keyPath: The property to sort by, or a path to one.
  ///   - order: Whether lower or higher values come first.
  public func sorted<Value: FetchOperand>(by keyPath: KeyPath<Result, Value>, order: SortOrder = .forward) -> FetchRequest {
    sorted(byPath: keyPath, order)
  }

  /// Returns the request with an attribute of a type with raw values as an additional sort key after the existing ones.
  ///
  /// - Parameters:
  ///   - keyPath: The property to sort by, or a path to one.
  ///   - order: Whether lower or higher values come first.
  @_disfavoredOverload
  public func sorted<Value: RawRepresentable>(by keyPath: KeyPath<Result, Value>, order: SortOrder = .forward) -> FetchRequest
  where Value.RawValue: FetchValue { sorted(byPath: keyPath, order) }

  /// Returns the request with an optional attribute of a type with raw values as an additional sort key after the existing ones.
  ///
  /// - Parameters:
  ///   - keyPath: The property to sort by, or a path to one.
  ///   - order: Whether lower or higher values come first.
  @_disfavoredOverload
  public func sorted<Value: RawRepresentable>(by keyPath: KeyPath<Result, Value?>, order: SortOrder = .forward) -> FetchRequest
  where Value.RawValue: FetchValue { sorted(byPath: keyPath, order) }

  /// For a property that is not in the model, the sort key contains an unknown key, so that the fetch throws.
  private func sorted(byPath keyPath: AnyKeyPath, _ order: SortOrder) -> FetchRequest {
    let key = FetchSortDescriptor(expression: .keyPath(Result.fetchKeys(of: keyPath) ?? ["\(keyPath)"]), ascending: order == .forward)
    return sorted { _ in key }
  }
}
