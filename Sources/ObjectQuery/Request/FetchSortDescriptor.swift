// FetchSortDescriptor: one key of an order.
public import Foundation

/// One key of the order of a fetch's results. Objects without a value come first where the order ascends, and last where it descends.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book")
/// request.sortDescriptors = [FetchSortDescriptor("author.name"), FetchSortDescriptor("pages", ascending: false)]
/// ```
///
/// An index over the properties in this order spares the store the sorting. Texts are compared byte by byte unless ``comparison`` says otherwise.
///
/// The localized comparisons follow the rules of ``locale``, or of `Locale.current` if it is nil. On Linux Foundation does not read `LANG` and the other
/// variables of the environment: its current locale is `en_001`. So pass the user's locale:
///
/// ```swift
/// Book.all.sorted { $0.title.ordered(.localizedStandard, locale: Locale(identifier: "sv_SE")) }
/// ```
public struct FetchSortDescriptor: Sendable, Hashable {
  /// How strings are ordered.
  public enum Comparison: String, Sendable, Hashable, CaseIterable {
    /// By their UTF-8 bytes, which is the order of their Unicode scalars.
    case binary
    /// Upper and lower case alike (Unicode simple folding), ties by bytes.
    case caseInsensitive
    /// By the rules of the sort descriptor's locale.
    case localized
    /// By the rules of the sort descriptor's locale, upper and lower case alike.
    case localizedCaseInsensitive
    /// As a file browser orders names: by the rules of the sort descriptor's locale, upper and lower case alike, and numbers inside by value.
    case localizedStandard
  }
  /// What is ordered by: one value of each object, or of each group of a grouped fetch.
  public var expression: FetchExpression
  /// Whether lower values come first.
  public var isAscending: Bool
  /// How strings are ordered.
  public var comparison: Comparison
  /// The locale whose rules the localized comparisons follow. If it is nil, they follow the locale that is current when the request is executed. The other
  /// comparisons ignore it.
  public var locale: Locale?

  /// Makes a sort key.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of to-one relationships that ends in an attribute, a to-one relationship, or `@count` of a to-many; for dictionary
  ///     results also the name of a property to fetch.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: How strings are ordered.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public init(_ keyPath: String, ascending: Bool = true, comparison: Comparison = .binary, locale: Locale? = nil) {
    self.init(expression: .keyPath(keyPath), ascending: ascending, comparison: comparison, locale: locale)
  }

  /// Makes a sort key of an expression, such as `FetchExpression(format: "length(name)")`.
  ///
  /// - Parameters:
  ///   - expression: What is sorted by.
  ///   - ascending: Whether the smallest value comes first.
  ///   - comparison: How texts are compared.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public init(expression: FetchExpression, ascending: Bool = true, comparison: Comparison = .binary, locale: Locale? = nil) {
    self.expression = expression
    isAscending = ascending
    self.comparison = comparison
    self.locale = locale
  }

  /// Makes a sort key of how much of a query is in texts; the texts with most of it come first.
  ///
  /// - Parameters:
  ///   - keyPath: A text attribute, or `SELF` or a path to an object for those that its full-text indexes are over.
  ///   - more: Further texts, which count beside it.
  ///   - query: The query.
  public static func relevance(of keyPath: String, _ more: String..., to query: TextQuery) -> FetchSortDescriptor {
    let texts = ([keyPath] + more).map { $0.uppercased() == "SELF" ? FetchExpression.evaluatedObject : .keyPath($0) }
    return FetchSortDescriptor(
      expression: .function("relevance", [texts.count == 1 ? texts[0] : .aggregate(texts), .constant(query._fetchConstant)]),
      ascending: false)
  }

  /// The dotted path of what is ordered by; nil for another expression.
  public var keyPath: String? {
    guard case .keyPath(let names) = expression else { return nil }
    return names.joined(separator: ".")
  }
}
