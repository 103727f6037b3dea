public import Foundation

/// A sort key of a fetch's results. Missing values come first in ascending order, and last in descending order.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book")
/// request.sortDescriptors = [FetchSortDescriptor("author.name"), FetchSortDescriptor("pages", ascending: false)]
/// ```
///
/// With an index over the properties in this order, the store does not need to sort. Strings are compared byte by byte unless
/// ``comparison`` specifies otherwise.
///
/// The localized comparisons follow the rules of ``locale``, or of `Locale.current` if it is nil. On Linux, Foundation does not read `LANG`
/// and the other environment variables: its current locale is `en_001`. Pass the user's locale explicitly:
///
/// ```swift
/// Book.all.sorted { $0.title.ordered(.localizedStandard, locale: Locale(identifier: "sv_SE")) }
/// ```
public struct FetchSortDescriptor: Sendable, Hashable {
  /// The comparison of strings.
  public enum Comparison: String, Sendable, Hashable, CaseIterable {
    /// By UTF-8 bytes, which is the order of the Unicode scalars.
    case binary
    /// Ignoring case (Unicode simple folding); equal strings are ordered by their bytes.
    case caseInsensitive
    /// By the rules of the sort descriptor's locale.
    case localized
    /// By the rules of the sort descriptor's locale, ignoring case.
    case localizedCaseInsensitive
    /// Like names in a file browser: by the rules of the sort descriptor's locale, ignoring case, and with embedded numbers by value.
    case localizedStandard
  }
  /// The expression to sort by. It has one value for each object, or for each group of a grouped fetch.
  public var expression: FetchExpression
  /// Whether lower values come first.
  public var isAscending: Bool
  /// The comparison of strings.
  public var comparison: Comparison
  /// The locale of the localized comparisons; nil for the locale that is current when the request is executed. Other comparisons ignore it.
  public var locale: Locale?

  /// Creates a sort key for a key path.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of to-one relationships that ends in an attribute, a to-one relationship, or `@count` of a to-many
  ///     relationship; for dictionary results also the name of a property to fetch.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public init(_ keyPath: String, ascending: Bool = true, comparison: Comparison = .binary, locale: Locale? = nil) {
    self.init(expression: .keyPath(keyPath), ascending: ascending, comparison: comparison, locale: locale)
  }

  /// Creates a sort key for an expression, such as `FetchExpression(format: "length(name)")`.
  ///
  /// - Parameters:
  ///   - expression: The expression to sort by.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public init(expression: FetchExpression, ascending: Bool = true, comparison: Comparison = .binary, locale: Locale? = nil) {
    self.expression = expression
    isAscending = ascending
    self.comparison = comparison
    self.locale = locale
  }

  /// Creates a sort key for the relevance of texts to a query, the most relevant first.
  ///
  /// - Parameters:
  ///   - keyPath: A text attribute; or `SELF` or a path to an object, for the attributes in its full-text indexes.
  ///   - more: Additional texts to include.
  ///   - query: The text query.
  public static func relevance(of keyPath: String, _ more: String..., to query: TextQuery) -> FetchSortDescriptor {
    let texts = ([keyPath] + more).map { $0.uppercased() == "SELF" ? FetchExpression.evaluatedObject : .keyPath($0) }
    return FetchSortDescriptor(
      expression: .function("relevance", [texts.count == 1 ? texts[0] : .aggregate(texts), .constant(query.fetchConstant)]),
      ascending: false)
  }

  /// The dotted key path to sort by; nil for other expressions.
  public var keyPath: String? {
    guard case .keyPath(let names) = expression else { return nil }
    return names.joined(separator: ".")
  }
}

/// The order of strings for a sort key: a comparison and its locale. Two strings are equal only if their bytes are equal.
package struct TextOrder: Sendable, Hashable {
  /// The comparison of strings.
  package let comparison: FetchSortDescriptor.Comparison
  /// The locale of a localized comparison; nil for the locale that is current at the time of the comparison.
  package let locale: Locale?

  /// The order of UTF-8 bytes.
  package static let binary = TextOrder(.binary)
  /// The order that ignores case, independent of the locale.
  package static let caseInsensitive = TextOrder(.caseInsensitive)

  /// Creates an order. Comparisons that are not localized ignore the locale.
  package init(_ comparison: FetchSortDescriptor.Comparison, locale: Locale? = nil) {
    self.comparison = comparison
    self.locale = comparison.isLocalized ? locale : nil
  }

  /// Returns the order of two strings: negative, zero or positive.
  package func compare(_ left: String, _ right: String) -> Int {
    let order =
      switch comparison {
      case .binary: 0
      case .caseInsensitive: TextMatching.compare(TextFolding.fold(left, .caseInsensitive), TextFolding.fold(right, .caseInsensitive))
      case .localized: TextMatching.compareLocalized(left, right, caseInsensitive: false, locale: locale)
      case .localizedCaseInsensitive: TextMatching.compareLocalized(left, right, caseInsensitive: true, locale: locale)
      case .localizedStandard: TextMatching.compareLocalized(left, right, caseInsensitive: true, numeric: true, locale: locale)
      }
    return order != 0 ? order : TextMatching.compare(left, right)
  }
}

extension FetchSortDescriptor.Comparison {
  /// Whether the comparison follows the rules of a locale.
  package var isLocalized: Bool {
    switch self {
    case .binary, .caseInsensitive: false
    case .localized, .localizedCaseInsensitive, .localizedStandard: true
    }
  }
}

extension FetchSortDescriptor {
  /// The order of strings for the sort key.
  package var textOrder: TextOrder { TextOrder(comparison, locale: locale) }
}
