// Boolean attributes as conditions: `$0.isRead`, `!$0.isRead`, `$0.isRead && $0.pages > 3`.

extension FetchField where Value == Bool {
  /// A condition that the value is true. A missing value is not.
  public var isTrue: FetchPredicate { FetchPredicate(fetchExpression, .equal, .constant(.bool(true))) }

  /// Returns a condition that the value is false or missing.
  public static prefix func ! (field: Self) -> FetchPredicate { !field.isTrue }

  /// Returns a condition that the value is true and a condition holds.
  public static func && (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue && right }
  /// Returns a condition that a condition holds and the value is true.
  public static func && (left: FetchPredicate, right: Self) -> FetchPredicate { left && right.isTrue }
  /// Returns a condition that both values are true.
  public static func && <Other>(left: Self, right: FetchField<Bool, Other>) -> FetchPredicate { left.isTrue && right.isTrue }
  /// Returns a condition that the value is true or a condition holds.
  public static func || (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue || right }
  /// Returns a condition that a condition holds or the value is true.
  public static func || (left: FetchPredicate, right: Self) -> FetchPredicate { left || right.isTrue }
  /// Returns a condition that at least one value is true.
  public static func || <Other>(left: Self, right: FetchField<Bool, Other>) -> FetchPredicate { left.isTrue || right.isTrue }
}

extension FetchField: FetchConditionLine where Value == Bool {
  /// A condition that the value is true.
  public var _fetchPredicate: FetchPredicate { isTrue }
}
