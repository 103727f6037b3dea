public import Foundation

extension FetchRequest {
  // Disfavored, because otherwise the compiler has no useful diagnostics for errors in a typed closure.
  /// Returns the request with an additional condition, combined with the existing predicate by AND:
  /// `Book.all.where(try FetchPredicate(format: "author.name BEGINSWITH[c] %@", "ursula")).sorted { $0.title }`.
  @_disfavoredOverload
  public func `where`(_ predicate: FetchPredicate) -> FetchRequest {
    changed { $0.predicate = $0.predicate.map { $0 && predicate } ?? predicate }
  }

  /// Returns the request with an additional sort key after the existing ones.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of to-one relationships that ends in an attribute, or in `@count` of a to-many relationship; for dictionary
  ///     results also the name of a property to fetch.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func sorted(
    by keyPath: String, ascending: Bool = true, comparison: FetchSortDescriptor.Comparison = .binary, locale: Locale? = nil
  ) -> FetchRequest {
    changed {
      $0.sortDescriptors.append(FetchSortDescriptor(keyPath, ascending: ascending, comparison: comparison, locale: locale))
    }
  }

  /// Returns the request with an expression as an additional sort key after the existing ones.
  ///
  /// - Parameters:
  ///   - expression: The expression to sort by.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func sorted(
    by expression: FetchExpression, ascending: Bool = true, comparison: FetchSortDescriptor.Comparison = .binary, locale: Locale? = nil
  ) -> FetchRequest {
    changed {
      $0.sortDescriptors.append(
        FetchSortDescriptor(expression: expression, ascending: ascending, comparison: comparison, locale: locale))
    }
  }

  /// Returns the request with additional properties to fetch.
  public func selecting(_ properties: FetchProperty...) -> FetchRequest { changed { $0.propertiesToFetch += properties } }

  /// Returns the request with additional properties to group by.
  public func grouped(by properties: FetchProperty...) -> FetchRequest { changed { $0.propertiesToGroupBy += properties } }

  /// Returns the request with an additional condition on groups, combined with the existing one by AND.
  public func having(_ predicate: FetchPredicate) -> FetchRequest {
    changed { $0.havingPredicate = $0.havingPredicate.map { $0 && predicate } ?? predicate }
  }

  /// Returns the request without duplicate dictionaries.
  public func distinct() -> FetchRequest { changed { $0.returnsDistinctResults = true } }

  /// Returns the request with a maximum number of results; 0 for no limit.
  public func limit(_ count: Int) -> FetchRequest { changed { $0.fetchLimit = count } }

  /// Returns the request with a number of results to skip.
  public func offset(_ count: Int) -> FetchRequest { changed { $0.fetchOffset = count } }

  private func changed(_ change: (inout FetchSpecification) -> Void) -> FetchRequest {
    var request = self
    change(&request.specification)
    return request
  }
}
