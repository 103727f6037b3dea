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
