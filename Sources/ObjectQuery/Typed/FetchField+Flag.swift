// Boolean attributes as conditions: `$0.isRead`, `!$0.isRead`, `$0.isRead && $0.pages > 3`.

extension FetchField where Value == Bool {
  /// A condition that the value is true. A missing value is not.
  public var isTrue: FetchPredicate { FetchPredicate(fetchExpression, .equal, .constant(.bool(true))) }

  /// Returns a condition that the value is false or missing.
  public static prefix func ! (field: Self) -> FetchPredicate { !field.isTrue }

  /// Returns the conjunction of a field and a condition.
  public static func && (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue && right }
  /// Returns the conjunction of a condition and a field.
  public static func && (left: FetchPredicate, right: Self) -> FetchPredicate { left && right.isTrue }
  /// Returns the conjunction of two fields.
  public static func && <Other>(left: Self, right: FetchField<Bool, Other>) -> FetchPredicate { left.isTrue && right.isTrue }
  /// Returns the disjunction of a field and a condition.
  public static func || (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue || right }
  /// Returns the disjunction of a condition and a field.
  public static func || (left: FetchPredicate, right: Self) -> FetchPredicate { left || right.isTrue }
  /// Returns the disjunction of two fields.
  public static func || <Other>(left: Self, right: FetchField<Bool, Other>) -> FetchPredicate { left.isTrue || right.isTrue }
}

extension FetchField: FetchConditionLine where Value == Bool {
  /// A condition that the value is true.
  @_spi(Generated) public var fetchPredicate: FetchPredicate { isTrue }
}
