// FetchRequest+Chaining: requests put together in one expression.
public import Foundation

extension FetchRequest {
  // Disfavored: otherwise the compiler finds no words for a mistake in a typed closure.
  /// The request with a further condition, which has to hold beside those it has:
  /// `Book.all.where(try FetchPredicate(format: "author.name BEGINSWITH[c] %@", "ursula")).sorted { $0.title }`.
  @_disfavoredOverload
  public func `where`(_ predicate: FetchPredicate) -> FetchRequest {
    changed { $0.predicate = $0.predicate.map { $0 && predicate } ?? predicate }
  }

  /// The request with a further sort key, after those it has.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of to-one relationships that ends in an attribute, or in `@count` of a to-many relationship; for dictionaries also the
  ///     name of a property to fetch.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: How strings are ordered.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func sorted(
    by keyPath: String, ascending: Bool = true, comparison: FetchSortDescriptor.Comparison = .binary, locale: Locale? = nil
  ) -> FetchRequest {
    changed {
      $0.sortDescriptors.append(FetchSortDescriptor(keyPath, ascending: ascending, comparison: comparison, locale: locale))
    }
  }

  /// The request with a further sort key that is an expression.
  ///
  /// - Parameters:
  ///   - expression: What is sorted by.
  ///   - ascending: Whether the smallest value comes first.
  ///   - comparison: How texts are compared.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func sorted(
    by expression: FetchExpression, ascending: Bool = true, comparison: FetchSortDescriptor.Comparison = .binary, locale: Locale? = nil
  ) -> FetchRequest {
    changed {
      $0.sortDescriptors.append(
        FetchSortDescriptor(expression: expression, ascending: ascending, comparison: comparison, locale: locale))
    }
  }

  /// The request with further properties to fetch.
  public func selecting(_ properties: FetchProperty...) -> FetchRequest { changed { $0.propertiesToFetch += properties } }

  /// The request with further keys to group by.
  public func grouped(by properties: FetchProperty...) -> FetchRequest { changed { $0.propertiesToGroupBy += properties } }

  /// The request with a further condition on groups, which has to hold beside those it has.
  public func having(_ predicate: FetchPredicate) -> FetchRequest {
    changed { $0.havingPredicate = $0.havingPredicate.map { $0 && predicate } ?? predicate }
  }

  /// The request whose equal dictionaries are returned once.
  public func distinct() -> FetchRequest { changed { $0.returnsDistinctResults = true } }

  /// The request for at most a number of results; 0 for no bound.
  public func limit(_ count: Int) -> FetchRequest { changed { $0.fetchLimit = count } }

  /// The request without a number of results at the start.
  public func offset(_ count: Int) -> FetchRequest { changed { $0.fetchOffset = count } }

  private func changed(_ change: (inout FetchSpecification) -> Void) -> FetchRequest {
    var request = self
    change(&request.specification)
    return request
  }
}
