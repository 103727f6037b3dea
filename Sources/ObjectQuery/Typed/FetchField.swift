public import Foundation

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

// MARK: - Text operators

extension FetchField where Value.OperandKind == FetchKind.Text {
  /// Returns a condition that the text equals another under options.
  public func equals<Other: FetchOperand>(
    _ other: Other, _ options: ComparisonOptions
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.equal, other, options) }

  /// Returns a condition that the text begins with another.
  public func hasPrefix<Other: FetchOperand>(
    _ prefix: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.beginsWith, prefix, options) }

  /// Returns a condition that the text ends with another.
  public func hasSuffix<Other: FetchOperand>(
    _ suffix: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.endsWith, suffix, options) }

  /// Returns a condition that the text contains another.
  public func contains<Other: FetchOperand>(
    _ part: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.contains, part, options) }

  /// Returns a condition that the whole text matches a pattern: `*` matches any text, `?` a single Unicode scalar, and a backslash escapes
  /// the next character.
  public func like<Other: FetchOperand>(
    _ pattern: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.like, pattern, options) }

  /// Returns a condition that the whole text matches a regular expression. Do not use expressions from untrusted sources: matching them can
  /// take very long.
  public func matches<Other: FetchOperand>(
    _ pattern: Other, _ options: ComparisonOptions = []
  ) -> FetchPredicate where Other.OperandKind == FetchKind.Text { compare(.matches, pattern, options) }

  /// Returns a condition that the text matches a query from user input (``TextQuery/init(typed:)``): `$0.summary.search("text adv*")`.
  public func search(_ query: String) -> FetchPredicate { search(TextQuery(typed: query)) }

  /// Returns a condition that the text matches a query.
  public func search(_ query: TextQuery) -> FetchPredicate { FetchPredicate(fetchExpression, .search, .constant(query.fetchConstant)) }

  /// Returns the relevance of the text to a query, to sort by: `$0.summary.relevance(to: "text adv*").descending`.
  public func relevance(to query: TextQuery) -> FetchField<Double, Double> {
    FetchField<Double, Double>(.function("relevance", [fetchExpression, .constant(query.fetchConstant)]))
  }

  /// Returns the relevance of the text to a query from user input, to sort by.
  public func relevance(to query: String) -> FetchField<Double, Double> { relevance(to: TextQuery(typed: query)) }

  /// Returns the text in lower case.
  public func lowercased() -> FetchField { FetchField(.function("lowercase:", [fetchExpression])) }

  /// Returns the text in upper case.
  public func uppercased() -> FetchField { FetchField(.function("uppercase:", [fetchExpression])) }

  /// The number of Unicode scalars in the text.
  public var count: FetchField<Int, Int?> { FetchField<Int, Int?>(.function("length:", [fetchExpression])) }

  /// A condition that the text is empty and not missing.
  public var isEmpty: FetchPredicate { FetchPredicate(fetchExpression, .equal, .constant(.string(""))) }
}

// MARK: - Number operators

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

// MARK: - Date operators

// Comparisons with `Date`, which allow implicit member expressions: `$0.published < .now`.

extension FetchField where Value == Date {
  /// Returns a condition that the value equals a date.
  public static func == (left: Self, right: Date) -> FetchPredicate { left.compare(.equal, right) }
  /// Returns a condition that the value differs from a date or is missing.
  public static func != (left: Self, right: Date) -> FetchPredicate { left.compare(.notEqual, right) }
  /// Returns a condition that the value is before a date.
  public static func < (left: Self, right: Date) -> FetchPredicate { left.compare(.less, right) }
  /// Returns a condition that the value is a date or before it.
  public static func <= (left: Self, right: Date) -> FetchPredicate { left.compare(.lessOrEqual, right) }
  /// Returns a condition that the value is after a date.
  public static func > (left: Self, right: Date) -> FetchPredicate { left.compare(.greater, right) }
  /// Returns a condition that the value is a date or after it.
  public static func >= (left: Self, right: Date) -> FetchPredicate { left.compare(.greaterOrEqual, right) }
}

// MARK: - Boolean operators

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

/// A sort key of a typed query: a field, in ascending order, or a sort descriptor.
public protocol FetchSortable {
  /// The value as a sort key.
  @_spi(Generated) var fetchSortDescriptor: FetchSortDescriptor { get }
}

extension FetchSortable where Self == FetchSortDescriptor {
  /// The descriptor itself.
  @_spi(Generated) public var fetchSortDescriptor: FetchSortDescriptor { self }
}

extension FetchSortDescriptor: FetchSortable {}

extension FetchField: FetchSortable {
  /// The field as an ascending sort key.
  @_spi(Generated) public var fetchSortDescriptor: FetchSortDescriptor { FetchSortDescriptor(expression: fetchExpression) }

  /// Returns the field as a sort key.
  ///
  /// - Parameters:
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func ordered(_ comparison: FetchSortDescriptor.Comparison, locale: Locale? = nil) -> FetchSortDescriptor {
    FetchSortDescriptor(expression: fetchExpression, comparison: comparison, locale: locale)
  }
}

extension FetchSortable {
  /// The sort key with higher values first.
  public var descending: FetchSortDescriptor {
    var descriptor = fetchSortDescriptor
    descriptor.isAscending = false
    return descriptor
  }
}
