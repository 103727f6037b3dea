/// Joins SQL conditions into balanced expressions.
///
/// SQLite parses `a OR b OR c` as left-nested and limits the expression depth to 1,000. Nesting halves in parentheses keeps the depth
/// logarithmic, however many columns a table has.
enum BalancedCondition {
  /// The maximum number of conditions joined without nesting.
  private static let maximumRow = 100

  /// Returns the disjunction of the conditions. The caller parenthesizes conditions that need it.
  static func any(_ conditions: [String]) -> String { joined(conditions[...], " OR ") }

  /// Returns the conjunction of the conditions. The caller parenthesizes conditions that need it.
  static func all(_ conditions: [String]) -> String { joined(conditions[...], " AND ") }

  private static func joined(_ conditions: ArraySlice<String>, _ word: String) -> String {
    guard conditions.count > maximumRow else { return conditions.joined(separator: word) }
    let middle = conditions.startIndex + conditions.count / 2
    return "(\(joined(conditions[..<middle], word)))\(word)(\(joined(conditions[middle...], word)))"
  }
}
