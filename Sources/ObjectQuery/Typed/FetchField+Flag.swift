// FetchField+Flag: Boolean attributes as conditions: `$0.isRead`, `!$0.isRead`, `$0.isRead && $0.pages > 3`.

extension FetchField where Value == Bool {
  /// Whether the value is true. A missing one is not.
  public var isTrue: FetchPredicate { FetchPredicate(fetchExpression, .equal, .constant(.bool(true))) }

  /// Whether the value is not true: it is false or missing.
  public static prefix func ! (field: Self) -> FetchPredicate { !field.isTrue }

  /// Whether the value is true and a condition holds.
  public static func && (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue && right }
  /// Whether a condition holds and the value is true.
  public static func && (left: FetchPredicate, right: Self) -> FetchPredicate { left && right.isTrue }
  /// Whether both values are true.
  public static func && <Other>(left: Self, right: FetchField<Bool, Other>) -> FetchPredicate { left.isTrue && right.isTrue }
  /// Whether the value is true or a condition holds.
  public static func || (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue || right }
  /// Whether a condition holds or the value is true.
  public static func || (left: FetchPredicate, right: Self) -> FetchPredicate { left || right.isTrue }
  /// Whether one of the values is true.
  public static func || <Other>(left: Self, right: FetchField<Bool, Other>) -> FetchPredicate { left.isTrue || right.isTrue }
}

extension FetchField: FetchConditionLine where Value == Bool {
  /// Whether the value is true.
  public var _fetchPredicate: FetchPredicate { isTrue }
}
