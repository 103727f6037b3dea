public import Foundation

/// A sort key of a typed query: a field, in ascending order, or a sort descriptor.
public protocol FetchSortable {
  /// The value as a sort key.
  var _fetchSortDescriptor: FetchSortDescriptor { get }
}

extension FetchSortDescriptor: FetchSortable {
  /// The descriptor itself.
  public var _fetchSortDescriptor: FetchSortDescriptor { self }
}

extension FetchField: FetchSortable {
  /// The field as an ascending sort key.
  public var _fetchSortDescriptor: FetchSortDescriptor { FetchSortDescriptor(expression: fetchExpression) }

  /// Returns the field as a sort key.
  ///
  /// - Parameters:
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func ordered(_ comparison: FetchSortDescriptor.Comparison, locale: Locale? = nil) -> FetchSortDescriptor {
    FetchSortDescriptor(expression: fetchExpression, comparison: comparison, locale: locale)
  }
}

extension FetchSortable {
  /// The sort key with higher values first.
  public var descending: FetchSortDescriptor {
    var descriptor = _fetchSortDescriptor
    descriptor.isAscending = false
    return descriptor
  }
}
