/// Arithmetic on numbers and dates. The result has the type of the left side; `as(_:)` changes it. The rules are those of the format
/// language: integer division truncates, and undefined results are missing.
extension FetchField where Value.OperandKind == FetchKind.Number {
  /// Returns the sum of two numbers.
  public static func + <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("add:to:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the difference of two numbers.
  public static func - <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("from:subtract:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the product of two numbers.
  public static func * <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("multiply:by:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the quotient of two numbers.
  public static func / <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("divide:by:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the remainder of integer division.
  public static func % <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("modulus:by:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the number with the opposite sign.
  public static prefix func - (field: Self) -> Self { Self(.function("from:subtract:", [.constant(.int(0)), field.fetchExpression])) }

  /// The absolute value.
  public var magnitude: Self { Self(.function("abs:", [fetchExpression])) }
}

extension FetchField where Value.OperandKind == FetchKind.Date {
  /// Returns the date a number of seconds later.
  public static func + <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("add:to:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the date a number of seconds earlier.
  public static func - <Other: FetchOperand>(left: Self, right: Other) -> Self where Other.OperandKind == FetchKind.Number {
    Self(.function("from:subtract:", [left.fetchExpression, right.fetchExpression]))
  }
  /// Returns the number of seconds from another date to this one.
  public func seconds<Other: FetchOperand>(since other: Other) -> FetchField<Double, Double?> where Other.OperandKind == FetchKind.Date {
    FetchField<Double, Double?>(.function("from:subtract:", [fetchExpression, other.fetchExpression]))
  }
}
