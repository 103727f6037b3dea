// Comparisons with `Date`, which allow implicit member expressions: `$0.published < .now`.
public import Foundation

extension FetchField where Value == Date {
  /// Returns a condition that the value equals a date.
  public static func == (left: Self, right: Date) -> FetchPredicate { left.compare(.equal, right) }
  /// Returns a condition that the value differs from a date or is missing.
  public static func != (left: Self, right: Date) -> FetchPredicate { left.compare(.notEqual, right) }
  /// Returns a condition that the value is before a date.
  public static func < (left: Self, right: Date) -> FetchPredicate { left.compare(.less, right) }
  /// Returns a condition that the value is a date or before it.
  public static func <= (left: Self, right: Date) -> FetchPredicate { left.compare(.lessOrEqual, right) }
  /// Returns a condition that the value is after a date.
  public static func > (left: Self, right: Date) -> FetchPredicate { left.compare(.greater, right) }
  /// Returns a condition that the value is a date or after it.
  public static func >= (left: Self, right: Date) -> FetchPredicate { left.compare(.greaterOrEqual, right) }
}
