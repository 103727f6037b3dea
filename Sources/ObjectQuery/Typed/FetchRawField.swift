/// An attribute of a type with raw values, such as an enumeration. It is compared with values of the type (`$0.state == .open`) and
/// selected as the type.
///
/// ``rawValue`` is the field of the raw values, with all operations of fields. A selected raw value that the type does not have is nil if
/// `Output` is optional, as it is for generated properties.
public struct FetchRawField<Value: RawRepresentable, Output>: FetchNilComparable, Sendable where Value.RawValue: FetchValue {
  /// The expression that the field represents.
  public let fetchExpression: FetchExpression

  init(_ expression: FetchExpression) { fetchExpression = expression }

  /// The field of the raw values.
  public var rawValue: FetchField<Value.RawValue, Value.RawValue?> { FetchField(fetchExpression) }

  /// Returns a condition that the attribute has a value.
  public static func == (left: Self, right: Value) -> FetchPredicate { left.rawValue == right.rawValue }
  /// Returns a condition that the attribute has a different value or none.
  public static func != (left: Self, right: Value) -> FetchPredicate { left.rawValue != right.rawValue }
  /// Returns a condition that the attribute has a value; for nil, that it is missing.
  @_disfavoredOverload public static func == (left: Self, right: Value?) -> FetchPredicate { left.rawValue == right?.rawValue }
  /// Returns a condition that the attribute has a different value; for nil, that it is not missing.
  @_disfavoredOverload public static func != (left: Self, right: Value?) -> FetchPredicate { left.rawValue != right?.rawValue }
  /// Returns a condition that two attributes are equal or both missing.
  public static func == <Other>(left: Self, right: FetchRawField<Value, Other>) -> FetchPredicate { left.rawValue == right.rawValue }
  /// Returns a condition that two attributes differ.
  public static func != <Other>(left: Self, right: FetchRawField<Value, Other>) -> FetchPredicate { left.rawValue != right.rawValue }

  /// Returns a condition that the value is one of several. A missing value never is.
  public func isIn(_ items: some Sequence<Value>) -> FetchPredicate { rawValue.isIn(items.map(\.rawValue)) }
}

extension FetchRawField: FetchSortable {
  /// The raw value as an ascending sort key.
  @_spi(Generated) public var fetchSortDescriptor: FetchSortDescriptor { FetchSortDescriptor(expression: fetchExpression) }
}

extension FetchRawField: FetchColumn where Output == Value?, Value.RawValue: FetchOutput {
  /// Converts a value of a result; returns nil if it is missing, or if the type does not have it.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Value? {
    guard let value else { return nil }
    return Value(rawValue: try Value.RawValue.output(from: value))
  }
}

extension Sequence {
  /// Returns a condition that a field's value is one of the elements.
  public func contains<Output>(_ field: FetchRawField<Element, Output>) -> FetchPredicate where Element: RawRepresentable {
    field.isIn(self)
  }
}
