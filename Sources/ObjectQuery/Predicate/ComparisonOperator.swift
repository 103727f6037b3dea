/// The operator of a comparison.
public enum ComparisonOperator: String, Sendable, Hashable, CaseIterable {
  /// The sides are equal.
  case equal = "=="
  /// The sides are not equal.
  case notEqual = "!="
  /// The left side is less than the right side.
  case less = "<"
  /// The left side is less than or equal to the right side.
  case lessOrEqual = "<="
  /// The left side is greater than the right side.
  case greater = ">"
  /// The left side is greater than or equal to the right side.
  case greaterOrEqual = ">="
  /// The left side is between the two values of a list, inclusive.
  case between = "BETWEEN"
  /// The left side is a member of a list or collection, or a substring of a string.
  case `in` = "IN"
  /// The left side contains a substring, or is a collection that contains a member.
  case contains = "CONTAINS"
  /// The left side begins with a string.
  case beginsWith = "BEGINSWITH"
  /// The left side ends with a string.
  case endsWith = "ENDSWITH"
  /// The left side matches a pattern with the wildcards `*` and `?`.
  case like = "LIKE"
  /// The whole left side matches a regular expression.
  case matches = "MATCHES"
  /// The left side matches a ``TextQuery``.
  case search = "SEARCH"
}
