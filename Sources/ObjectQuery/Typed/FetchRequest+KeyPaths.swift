// FetchRequest+KeyPaths: orders by key paths: `Book.all.sorted(by: \.title)`.
public import Foundation

extension FetchRequest {
  /// The request with a further sort key, after those it has: `Book.all.sorted(by: \.author.name).sorted(by: \.pages, order: .reverse)`.
  ///
  /// The path is one of the typed query's object, and names what can be ordered by.
  ///
  /// - Parameters:
  ///   - keyPath: What to order by.
  ///   - order: Whether lesser or greater values come first.
  public func sorted<Key: FetchSortable>(by keyPath: KeyPath<FetchObject<Result, FetchDirect>, Key>, order: SortOrder = .forward)
    -> FetchRequest
  {
    let key = FetchObject<Result, FetchDirect>(.evaluatedObject)[keyPath: keyPath]
    return sorted { _ in order == .forward ? key._fetchSortDescriptor : key.descending }
  }
}

/// Orders by the properties of classes that declare their entities in Swift.
extension FetchRequest where Result: FetchKeyPathNaming {
  /// The request with a further sort key, after those it has: `Book.all.sorted(by: \.author?.name).sorted(by: \.pages, order: .reverse)`.
  ///
  /// - Parameters:
  ///   - keyPath: The property to order by, or a path to one.
  ///   - order: Whether lesser or greater values come first.
  public func sorted<Value: FetchOperand>(by keyPath: KeyPath<Result, Value>, order: SortOrder = .forward) -> FetchRequest {
    sorted(byPath: keyPath, order)
  }

  /// The request with a further sort key, after those it has: an attribute of a type with raw values.
  ///
  /// - Parameters:
  ///   - keyPath: The property to order by, or a path to one.
  ///   - order: Whether lesser or greater values come first.
  @_disfavoredOverload
  public func sorted<Value: RawRepresentable>(by keyPath: KeyPath<Result, Value>, order: SortOrder = .forward) -> FetchRequest
  where Value.RawValue: FetchValue { sorted(byPath: keyPath, order) }

  /// The request with a further sort key, after those it has: an optional attribute of a type with raw values.
  ///
  /// - Parameters:
  ///   - keyPath: The property to order by, or a path to one.
  ///   - order: Whether lesser or greater values come first.
  @_disfavoredOverload
  public func sorted<Value: RawRepresentable>(by keyPath: KeyPath<Result, Value?>, order: SortOrder = .forward) -> FetchRequest
  where Value.RawValue: FetchValue { sorted(byPath: keyPath, order) }

  /// Of another property than the model's the key is one that no entity has: the fetch throws.
  private func sorted(byPath keyPath: AnyKeyPath, _ order: SortOrder) -> FetchRequest {
    let key = FetchSortDescriptor(expression: .keyPath(Result._fetchKeys(of: keyPath) ?? ["\(keyPath)"]), ascending: order == .forward)
    return sorted { _ in key }
  }
}
