// BalancedCondition: many conditions joined to one within the limits of SQLite.

/// Joins conditions. SQLite reads `a OR b OR c` as nested to the left and takes expressions of a thousand levels; halves in parentheses keep the nesting
/// logarithmic, however many columns a table has.
enum BalancedCondition {
  /// So many are written in a row.
  private static let greatestRow = 100

  /// The disjunction of some conditions, which need no parentheses of their own.
  static func any(_ conditions: [String]) -> String { joined(conditions[...], " OR ") }

  /// The conjunction of some conditions.
  static func all(_ conditions: [String]) -> String { joined(conditions[...], " AND ") }

  private static func joined(_ conditions: ArraySlice<String>, _ word: String) -> String {
    guard conditions.count > greatestRow else { return conditions.joined(separator: word) }
    let middle = conditions.startIndex + conditions.count / 2
    return "(\(joined(conditions[..<middle], word)))\(word)(\(joined(conditions[middle...], word)))"
  }
}
