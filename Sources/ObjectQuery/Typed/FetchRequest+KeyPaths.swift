public import Foundation

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
