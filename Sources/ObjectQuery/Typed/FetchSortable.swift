// FetchSortable: what typed queries can be ordered by.

/// What a typed query can be ordered by: a field, ascending, or a sort descriptor.
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

  /// The field as a sort key with a way of ordering text.
  public func ordered(_ comparison: FetchSortDescriptor.Comparison) -> FetchSortDescriptor {
    FetchSortDescriptor(expression: fetchExpression, comparison: comparison)
  }
}

extension FetchSortable {
  /// The sort key with greater values first.
  public var descending: FetchSortDescriptor {
    var descriptor = _fetchSortDescriptor
    descriptor.isAscending = false
    return descriptor
  }
}
