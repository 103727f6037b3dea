public import Foundation

/// A sort key of a typed query: a field, in ascending order, or a sort descriptor.
public protocol FetchSortable {
  /// The value as a sort key.
  @_spi(Generated) var fetchSortDescriptor: FetchSortDescriptor { get }
}

extension FetchSortable where Self == FetchSortDescriptor {
  /// The descriptor itself.
  @_spi(Generated) public var fetchSortDescriptor: FetchSortDescriptor { self }
}

extension FetchSortDescriptor: FetchSortable {}

extension FetchField: FetchSortable {
  /// The field as an ascending sort key.
  @_spi(Generated) public var fetchSortDescriptor: FetchSortDescriptor { FetchSortDescriptor(expression: fetchExpression) }

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
    var descriptor = fetchSortDescriptor
    descriptor.isAscending = false
    return descriptor
  }
}
