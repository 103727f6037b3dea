// FetchField+Instant: dates compared with dates that are written without their type: `$0.published < .now`.
public import Foundation

extension FetchField where Value == Date {
  /// Whether the value is an instant.
  public static func == (left: Self, right: Date) -> FetchPredicate { left.compare(.equal, right) }
  /// Whether the value is another instant, or missing.
  public static func != (left: Self, right: Date) -> FetchPredicate { left.compare(.notEqual, right) }
  /// Whether the value is before an instant.
  public static func < (left: Self, right: Date) -> FetchPredicate { left.compare(.less, right) }
  /// Whether the value is an instant or before it.
  public static func <= (left: Self, right: Date) -> FetchPredicate { left.compare(.lessOrEqual, right) }
  /// Whether the value is after an instant.
  public static func > (left: Self, right: Date) -> FetchPredicate { left.compare(.greater, right) }
  /// Whether the value is an instant or after it.
  public static func >= (left: Self, right: Date) -> FetchPredicate { left.compare(.greaterOrEqual, right) }
}
