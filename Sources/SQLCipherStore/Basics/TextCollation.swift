import Foundation
import ObjectQuery
import SQLCipherConnection

/// The collations that sort texts.
enum TextCollation {
  private static let prefix = "cd_"
  /// The separator between the comparison and the locale's identifier.
  private static let separator: Character = ":"
  /// The characters of locale identifiers that are not percent-encoded. Others, such as quotes, are.
  private static let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-@=;.")

  /// Returns the quoted name of an order's collation, or `nil` for binary order, which is SQLite's default.
  static func name(of order: TextOrder) -> String? {
    guard order != .binary else { return nil }
    guard let locale = order.locale else { return name(of: order.comparison) }
    let identifier = locale.identifier.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    return "\"\(name(of: order.comparison))\(separator)\(identifier)\""
  }

  private static func name(of comparison: FetchSortDescriptor.Comparison) -> String { prefix + comparison.rawValue }

  /// Returns the order of a collation with a locale, or `nil` if the name has another form.
  private static func order(named name: String) -> TextOrder? {
    let parts = name.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].hasPrefix(prefix), let identifier = parts[1].removingPercentEncoding,
      let comparison = FetchSortDescriptor.Comparison(rawValue: String(parts[0].dropFirst(prefix.count)))
    else { return nil }
    return TextOrder(comparison, locale: Locale(identifier: identifier))
  }

  /// Registers the collations of the current locale. Those of other locales are registered when a statement first names them.
  static func register(on connection: Connection) throws {
    for comparison in FetchSortDescriptor.Comparison.allCases where comparison != .binary {
      try connection.registerCollation(name: name(of: comparison), compare(by: TextOrder(comparison)))
    }
    try connection.registerCollations(onDemand: { order(named: $0).map(compare(by:)) })
  }

  private static func compare(by order: TextOrder) -> CollationComparison {
    { left, right in Int32(order.compare(String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self)).signum()) }
  }
}
