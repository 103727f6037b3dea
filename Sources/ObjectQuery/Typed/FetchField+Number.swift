// FetchField+Number: arithmetic on numbers and dates in typed queries.

/// A result has the type of its left side; `as(_:)` reads it as another. The rules are those of the format language: integers divide without remainder,
/// what has no value is missing.
extension FetchField where Value._Kind == FetchKind.Number {
  /// The sum.
  public static func + <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("add:to:", [left.fetchExpression, right.fetchExpression]))
  }
  /// The difference.
  public static func - <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("from:subtract:", [left.fetchExpression, right.fetchExpression]))
  }
  /// The product.
  public static func * <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("multiply:by:", [left.fetchExpression, right.fetchExpression]))
  }
  /// The quotient.
  public static func / <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("divide:by:", [left.fetchExpression, right.fetchExpression]))
  }
  /// The remainder of integers.
  public static func % <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("modulus:by:", [left.fetchExpression, right.fetchExpression]))
  }
  /// The opposite.
  public static prefix func - (field: Self) -> Self { Self(.function("from:subtract:", [.constant(.int(0)), field.fetchExpression])) }

  /// The number without its sign.
  public var magnitude: Self { Self(.function("abs:", [fetchExpression])) }
}

extension FetchField where Value._Kind == FetchKind.Instant {
  /// An instant a number of seconds later.
  public static func + <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("add:to:", [left.fetchExpression, right.fetchExpression]))
  }
  /// An instant a number of seconds earlier.
  public static func - <Other: FetchOperand>(left: Self, right: Other) -> Self where Other._Kind == FetchKind.Number {
    Self(.function("from:subtract:", [left.fetchExpression, right.fetchExpression]))
  }
  /// The seconds from another instant to this one.
  public func seconds<Other: FetchOperand>(since other: Other) -> FetchField<Double, Double?> where Other._Kind == FetchKind.Instant {
    FetchField<Double, Double?>(.function("from:subtract:", [fetchExpression, other.fetchExpression]))
  }
}
