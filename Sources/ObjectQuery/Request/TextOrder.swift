// TextOrder: the order of texts: a comparison, and the locale whose rules it follows.
package import Foundation

/// How a sort key orders texts. Two texts are equal in an order only if their bytes are.
package struct TextOrder: Sendable, Hashable {
  /// How texts are compared.
  package let comparison: FetchSortDescriptor.Comparison
  /// The locale whose rules a localized comparison follows. If it is nil, the order follows the locale that is current when texts are compared.
  package let locale: Locale?

  /// The order of UTF-8 bytes.
  package static let binary = TextOrder(.binary)
  /// The order that ignores case, without a locale.
  package static let caseInsensitive = TextOrder(.caseInsensitive)

  /// Creates an order. Comparisons that are not localized ignore the locale.
  package init(_ comparison: FetchSortDescriptor.Comparison, locale: Locale? = nil) {
    self.comparison = comparison
    self.locale = comparison.isLocalized ? locale : nil
  }

  /// The order of two texts: negative, zero or positive.
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
  /// Whether the order follows the rules of a locale.
  package var isLocalized: Bool {
    switch self {
    case .binary, .caseInsensitive: false
    case .localized, .localizedCaseInsensitive, .localizedStandard: true
    }
  }
}

extension FetchSortDescriptor {
  /// How the sort key orders texts.
  package var textOrder: TextOrder { TextOrder(comparison, locale: locale) }
}
