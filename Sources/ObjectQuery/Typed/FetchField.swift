/// A value of the objects in a typed query: an attribute, possibly at the end of a path, or an expression.
///
/// `Value` is the attribute's type, which determines what it can be compared with. `Output` is the type that a selection returns: `Value`,
/// or `Value?` if the value, or an object on the path to it, may be missing. Fields are not `Equatable`: `==` returns a condition.
/// `Documentation/Predicates.md` describes comparisons with missing values.
public struct FetchField<Value: FetchValue, Output>: FetchValueField, FetchNilComparable, Sendable {
  /// The attribute's type.
  public typealias FieldValue = Value
  /// The kind of the value.
  public typealias OperandKind = Value.OperandKind
  /// The expression that the field represents.
  public let fetchExpression: FetchExpression

  /// Creates a field from an expression. The type of its values is not checked: generated code and the operators of fields ensure it.
  public init(_ expression: FetchExpression) { fetchExpression = expression }

  /// Returns a comparison with any operator and options for strings.
  ///
  /// - Parameters:
  ///   - op: The operator.
  ///   - other: A constant or another field.
  ///   - options: The options for comparing strings.
  public func compare<Other: FetchOperand>(
    _ op: ComparisonOperator, _ other: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(fetchExpression, op, other.fetchExpression, options)
  }

  // MARK: Lists and ranges

  /// Returns a condition that the value is one of several. A missing value never is.
  public func isIn<Items: Sequence>(_ items: Items) -> FetchPredicate
  where Items.Element: FetchOperand, Items.Element.OperandKind == OperandKind {
    FetchPredicate(fetchExpression, .in, .list(items.map(\.fetchExpression)))
  }

  /// Returns a condition that the value is in a range, including both bounds.
  public func isIn<Bound: FetchOperand>(_ range: ClosedRange<Bound>) -> FetchPredicate where Bound.OperandKind == OperandKind {
    FetchPredicate(fetchExpression, .between, .list([range.lowerBound.fetchExpression, range.upperBound.fetchExpression]))
  }

  /// Returns a condition that the value is in a range, excluding the upper bound.
  public func isIn<Bound: FetchOperand>(_ range: Range<Bound>) -> FetchPredicate where Bound.OperandKind == OperandKind {
    .and([
      FetchPredicate(fetchExpression, .greaterOrEqual, range.lowerBound.fetchExpression),
      FetchPredicate(fetchExpression, .less, range.upperBound.fetchExpression),
    ])
  }

  /// Returns a condition that the value is between two others, inclusive.
  public func isBetween<Low: FetchOperand, High: FetchOperand>(
    _ low: Low, _ high: High
  ) -> FetchPredicate where Low.OperandKind == OperandKind, High.OperandKind == OperandKind {
    FetchPredicate(fetchExpression, .between, .list([low.fetchExpression, high.fetchExpression]))
  }

  // MARK: Other values

  /// Returns the value, or another one if it is missing.
  public static func ?? <Other: FetchOperand>(left: Self, right: Other) -> FetchField<Value, Value>
  where Other.OperandKind == Value.OperandKind {
    FetchField<Value, Value>(.function("coalesce", [left.fetchExpression, right.fetchExpression]))
  }

  /// Returns the same values as another type of their kind in a selection. If the type cannot represent a value, the fetch throws.
  public func `as`<Other: FetchValue>(_ type: Other.Type) -> FetchField<Other, Other?> where Other.OperandKind == OperandKind {
    FetchField<Other, Other?>(fetchExpression)
  }
}

/// Comparisons. They are declared for the protocol rather than for ``FetchField``, so that the compiler reports only the unknown name for a
/// misspelled field.
extension FetchValueField {
  /// Returns a condition that the values are equal. Two missing values are equal.
  public static func == <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(left.fetchExpression, .equal, right.fetchExpression)
  }
  /// Returns a condition that the values differ. A missing value differs from one that is not missing.
  public static func != <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(left.fetchExpression, .notEqual, right.fetchExpression)
  }
  /// Returns a condition that the left value is less than the right one.
  public static func < <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(left.fetchExpression, .less, right.fetchExpression)
  }
  /// Returns a condition that the left value is less than or equal to the right one.
  public static func <= <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(left.fetchExpression, .lessOrEqual, right.fetchExpression)
  }
  /// Returns a condition that the left value is greater than the right one.
  public static func > <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(left.fetchExpression, .greater, right.fetchExpression)
  }
  /// Returns a condition that the left value is greater than or equal to the right one.
  public static func >= <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other.OperandKind == OperandKind {
    FetchPredicate(left.fetchExpression, .greaterOrEqual, right.fetchExpression)
  }
}

/// A transformable attribute, whose values can only be compared with nil.
public struct FetchOpaqueField: FetchNilComparable, Sendable {
  /// The expression that the field represents.
  public let fetchExpression: FetchExpression

  init(_ expression: FetchExpression) { fetchExpression = expression }
}

extension ClosedRange where Bound: FetchOperand {
  /// Returns a condition that a field's value is in the range, including both bounds.
  public func contains<Field: FetchValueField>(_ field: Field) -> FetchPredicate where Field.OperandKind == Bound.OperandKind {
    FetchPredicate(field.fetchExpression, .between, .list([lowerBound.fetchExpression, upperBound.fetchExpression]))
  }
}

extension Range where Bound: FetchOperand {
  /// Returns a condition that a field's value is in the range, excluding the upper bound.
  public func contains<Field: FetchValueField>(_ field: Field) -> FetchPredicate where Field.OperandKind == Bound.OperandKind {
    .and([
      FetchPredicate(field.fetchExpression, .greaterOrEqual, lowerBound.fetchExpression),
      FetchPredicate(field.fetchExpression, .less, upperBound.fetchExpression),
    ])
  }
}

extension Sequence where Element: FetchOperand {
  /// Returns a condition that a field's value is one of the elements.
  public func contains<Field: FetchValueField>(_ field: Field) -> FetchPredicate where Field.OperandKind == Element.OperandKind {
    FetchPredicate(field.fetchExpression, .in, .list(map(\.fetchExpression)))
  }
}

extension FetchPredicate {
  /// Creates a comparison of two expressions.
  package init(_ left: FetchExpression, _ op: ComparisonOperator, _ right: FetchExpression, _ options: ComparisonOptions = []) {
    self = .comparison(FetchComparison(left: left, op: op, right: right, options: options))
  }

  /// Returns a condition that an expression is missing or, with false, that it is not.
  package static func isNull(_ expression: FetchExpression, _ isNull: Bool) -> FetchPredicate {
    FetchPredicate(expression, isNull ? .equal : .notEqual, .constant(.null))
  }
}

extension FetchExpression {
  /// Returns a list in the form that parsing returns: one constant if all items are constants.
  package static func list(_ items: [FetchExpression]) -> FetchExpression {
    let constants = items.compactMap { if case .constant(let value) = $0 { value } else { nil } }
    return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
  }

  /// Returns the expression with appended keys, in the form that parsing returns.
  package func appending(_ keys: [String]) -> FetchExpression {
    switch self {
    case .evaluatedObject: .keyPath(keys)
    case .keyPath(let names): .keyPath(names + keys)
    case .path(let base, let names): .path(base, names + keys)
    default: .path(self, keys)
    }
  }
}
