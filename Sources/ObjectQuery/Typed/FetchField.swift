// FetchField: a value of an object in a typed query: an attribute, or what is computed of attributes.

/// A value of the objects that a typed query asks about: an attribute, at the end of a path, or an expression.
///
/// `Value` is the attribute's type, which decides what it can be compared with; `Output` is what a selection gives: `Value`, or `Value?` where the value, or an
/// object on the way to it, may be missing. Fields are not `Equatable`: `==` makes a condition. What comparisons say of missing values is told in
/// `Documentation/Predicates.md`.
public struct FetchField<Value: FetchValue, Output>: FetchValueField, FetchNilComparable, Sendable {
  /// The attribute's type.
  public typealias _Value = Value
  /// The kind of the value.
  public typealias _Kind = Value._Kind
  /// What the field stands for.
  public let fetchExpression: FetchExpression

  /// A field of an expression. Nothing checks that its values are of the type: generated code and the operators of fields see to that.
  public init(_ expression: FetchExpression) { fetchExpression = expression }

  /// Whether there is no value, or whether there is one.
  public func _isNull(_ isNull: Bool) -> FetchPredicate { .isNull(fetchExpression, isNull) }

  /// Compares with any operator and with options for text.
  ///
  /// - Parameters:
  ///   - op: The operator.
  ///   - other: A constant or another field.
  ///   - options: How text is compared.
  public func compare<Other: FetchOperand>(
    _ op: ComparisonOperator, _ other: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(fetchExpression, op, other.fetchExpression, options)
  }

  // MARK: Lists and ranges

  /// Whether the value is one of several. Missing values never are.
  public func isIn<Items: Sequence>(_ items: Items) -> FetchPredicate where Items.Element: FetchOperand, Items.Element._Kind == _Kind {
    FetchPredicate(fetchExpression, .in, .list(items.map(\.fetchExpression)))
  }

  /// Whether the value lies in a range, both ends included.
  public func isIn<Bound: FetchOperand>(_ range: ClosedRange<Bound>) -> FetchPredicate where Bound._Kind == _Kind {
    FetchPredicate(fetchExpression, .between, .list([range.lowerBound.fetchExpression, range.upperBound.fetchExpression]))
  }

  /// Whether the value lies in a range without its upper end.
  public func isIn<Bound: FetchOperand>(_ range: Range<Bound>) -> FetchPredicate where Bound._Kind == _Kind {
    .and([
      FetchPredicate(fetchExpression, .greaterOrEqual, range.lowerBound.fetchExpression),
      FetchPredicate(fetchExpression, .less, range.upperBound.fetchExpression),
    ])
  }

  /// Whether the value lies between two others, both included.
  public func isBetween<Low: FetchOperand, High: FetchOperand>(
    _ low: Low, _ high: High
  ) -> FetchPredicate where Low._Kind == _Kind, High._Kind == _Kind {
    FetchPredicate(fetchExpression, .between, .list([low.fetchExpression, high.fetchExpression]))
  }

  // MARK: Other values

  /// The value, or another one where it is missing.
  public static func ?? <Other: FetchOperand>(left: Self, right: Other) -> FetchField<Value, Value> where Other._Kind == Value._Kind {
    FetchField<Value, Value>(.function("coalesce", [left.fetchExpression, right.fetchExpression]))
  }

  /// The same values, read as another type of their kind when they are selected. A value that the type cannot hold makes the fetch throw.
  public func `as`<Other: FetchValue>(_ type: Other.Type) -> FetchField<Other, Other?> where Other._Kind == _Kind {
    FetchField<Other, Other?>(fetchExpression)
  }
}

/// Comparisons. They are declared for all fields at once, and not for ``FetchField``: of a field that it does not find, the compiler then says nothing else.
extension FetchValueField {
  /// Whether the values are equal; two missing values are.
  public static func == <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(left.fetchExpression, .equal, right.fetchExpression)
  }
  /// Whether the values differ; a missing one differs from one that is there.
  public static func != <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(left.fetchExpression, .notEqual, right.fetchExpression)
  }
  /// Whether the value is less.
  public static func < <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(left.fetchExpression, .less, right.fetchExpression)
  }
  /// Whether the value is less or equal.
  public static func <= <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(left.fetchExpression, .lessOrEqual, right.fetchExpression)
  }
  /// Whether the value is greater.
  public static func > <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(left.fetchExpression, .greater, right.fetchExpression)
  }
  /// Whether the value is greater or equal.
  public static func >= <Other: FetchOperand>(left: Self, right: Other) -> FetchPredicate where Other._Kind == _Kind {
    FetchPredicate(left.fetchExpression, .greaterOrEqual, right.fetchExpression)
  }
}

/// An attribute whose values cannot be compared, but only told from nil: a transformable one.
public struct FetchOpaqueField: FetchNilComparable, Sendable {
  private let expression: FetchExpression

  init(_ expression: FetchExpression) { self.expression = expression }

  /// Whether there is no value, or whether there is one.
  public func _isNull(_ isNull: Bool) -> FetchPredicate { .isNull(expression, isNull) }
}

extension ClosedRange where Bound: FetchOperand {
  /// Whether a field's value lies in the range, both ends included.
  public func contains<Field: FetchValueField>(_ field: Field) -> FetchPredicate where Field._Kind == Bound._Kind {
    FetchPredicate(field.fetchExpression, .between, .list([lowerBound.fetchExpression, upperBound.fetchExpression]))
  }
}

extension Range where Bound: FetchOperand {
  /// Whether a field's value lies in the range without its upper end.
  public func contains<Field: FetchValueField>(_ field: Field) -> FetchPredicate where Field._Kind == Bound._Kind {
    .and([
      FetchPredicate(field.fetchExpression, .greaterOrEqual, lowerBound.fetchExpression),
      FetchPredicate(field.fetchExpression, .less, upperBound.fetchExpression),
    ])
  }
}

extension Sequence where Element: FetchOperand {
  /// Whether a field's value is one of the elements.
  public func contains<Field: FetchValueField>(_ field: Field) -> FetchPredicate where Field._Kind == Element._Kind {
    FetchPredicate(field.fetchExpression, .in, .list(map(\.fetchExpression)))
  }
}

extension FetchPredicate {
  /// A comparison of two expressions.
  package init(_ left: FetchExpression, _ op: ComparisonOperator, _ right: FetchExpression, _ options: ComparisonOptions = []) {
    self = .comparison(FetchComparison(left: left, op: op, right: right, options: options))
  }

  /// Whether an expression has no value, or has one.
  package static func isNull(_ expression: FetchExpression, _ isNull: Bool) -> FetchPredicate {
    FetchPredicate(expression, isNull ? .equal : .notEqual, .constant(.null))
  }
}

extension FetchExpression {
  /// A list in the form that parsing gives: one constant where all items are.
  package static func list(_ items: [FetchExpression]) -> FetchExpression {
    let constants = items.compactMap { if case .constant(let value) = $0 { value } else { nil } }
    return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
  }

  /// The expression with keys behind it, in the form that parsing gives.
  package func appending(_ keys: [String]) -> FetchExpression {
    switch self {
    case .evaluatedObject: .keyPath(keys)
    case .keyPath(let names): .keyPath(names + keys)
    case .path(let base, let names): .path(base, names + keys)
    default: .path(self, keys)
    }
  }
}
