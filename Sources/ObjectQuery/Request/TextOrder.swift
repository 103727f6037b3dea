package import Foundation

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
