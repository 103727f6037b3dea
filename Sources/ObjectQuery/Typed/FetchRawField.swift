// FetchRawField: an attribute whose Swift type has raw values, such as an enumeration, in a typed query.

/// An attribute of a type with raw values: it is compared with values of the type, `$0.state == .open`, and selected as one.
///
/// ``rawValue`` is the field of the raw values, for everything else that fields can do. A selected raw value that the type does not have is nil where `Output`
/// is an optional, as it is for generated properties.
public struct FetchRawField<Value: RawRepresentable, Output>: FetchNilComparable, Sendable where Value.RawValue: FetchValue {
  /// What the field stands for.
  public let fetchExpression: FetchExpression

  init(_ expression: FetchExpression) { fetchExpression = expression }

  /// The field of the raw values.
  public var rawValue: FetchField<Value.RawValue, Value.RawValue?> { FetchField(fetchExpression) }

  /// Whether the attribute has a value.
  public static func == (left: Self, right: Value) -> FetchPredicate { left.rawValue == right.rawValue }
  /// Whether the attribute has another value, or none.
  public static func != (left: Self, right: Value) -> FetchPredicate { left.rawValue != right.rawValue }
  /// Whether there is no value, or whether there is one.
  public func _isNull(_ isNull: Bool) -> FetchPredicate { .isNull(fetchExpression, isNull) }
  /// Whether the attribute has a value; with nil, whether it has none.
  @_disfavoredOverload public static func == (left: Self, right: Value?) -> FetchPredicate { left.rawValue == right?.rawValue }
  /// Whether the attribute has another value; with nil, whether it has one.
  @_disfavoredOverload public static func != (left: Self, right: Value?) -> FetchPredicate { left.rawValue != right?.rawValue }
  /// Whether two attributes have one value, or both none.
  public static func == <Other>(left: Self, right: FetchRawField<Value, Other>) -> FetchPredicate { left.rawValue == right.rawValue }
  /// Whether two attributes differ.
  public static func != <Other>(left: Self, right: FetchRawField<Value, Other>) -> FetchPredicate { left.rawValue != right.rawValue }

  /// Whether the value is one of several. Missing values never are.
  public func isIn(_ items: some Sequence<Value>) -> FetchPredicate { rawValue.isIn(items.map(\.rawValue)) }
}

extension FetchRawField: FetchSortable {
  /// The raw value as an ascending sort key.
  public var _fetchSortDescriptor: FetchSortDescriptor { FetchSortDescriptor(expression: fetchExpression) }
}

extension FetchRawField: FetchColumn where Output == Value?, Value.RawValue: FetchOutput {
  /// A value out of a result; nil when there is none, or when the type does not have it.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Value? {
    guard let value else { return nil }
    return Value(rawValue: try Value.RawValue._output(from: value))
  }
}

extension Sequence {
  /// Whether a field's value is one of the elements.
  public func contains<Output>(_ field: FetchRawField<Element, Output>) -> FetchPredicate where Element: RawRepresentable {
    field.isIn(self)
  }
}
