// FetchSortDescriptor: one key of an order.

/// One key of the order of a fetch's results. No value sorts first ascending, last descending.
public struct FetchSortDescriptor: Sendable, Hashable {
  /// How strings are ordered.
  public enum Comparison: String, Sendable, Hashable, CaseIterable {
    /// By their UTF-8 bytes, which is the order of their Unicode scalars.
    case binary
    /// Upper and lower case alike (Unicode simple folding), ties by bytes.
    case caseInsensitive
    /// By the rules of the current locale.
    case localized
    /// By the rules of the current locale, upper and lower case alike.
    case localizedCaseInsensitive
    /// As a file browser orders names: numbers inside by value.
    case localizedStandard
  }
  /// A dotted path of to-one relationships that ends in an attribute, a to-one relationship, or `@count` of a to-many.
  public var keyPath: String
  /// Whether lower values come first.
  public var isAscending: Bool
  /// How strings are ordered.
  public var comparison: Comparison

  /// Makes a sort key.
  public init(_ keyPath: String, ascending: Bool = true, comparison: Comparison = .binary) {
    self.keyPath = keyPath
    isAscending = ascending
    self.comparison = comparison
  }
}
