public import Foundation

/// The kinds of values. Values of the same kind can be compared: numbers with numbers of any type, texts with texts.
public enum FetchKind {
  /// Integers, floating-point numbers and decimals.
  public enum Number {}
  /// Strings and URLs.
  public enum Text {}
  /// Dates.
  public enum Instant {}
  /// Booleans.
  public enum Flag {}
  /// Binary data.
  public enum Bytes {}
  /// UUIDs.
  public enum Identifier {}
}

/// An operand of a comparison in a typed condition: a constant, an optional constant, or a field.
///
/// An enumeration with raw values becomes an operand with `extension Status: FetchOperand {}`.
public protocol FetchOperand {
  /// The kind of values that it can be compared with: a type of ``FetchKind``.
  associatedtype _Kind
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
}

/// A type that an attribute can have.
public protocol FetchValue: FetchOperand, FetchConstantConvertible, Sendable {}

extension FetchValue {
  /// The value as a constant expression.
  public var fetchExpression: FetchExpression { .constant(_fetchConstant) }
}

extension FetchOperand where Self: RawRepresentable, RawValue: FetchOperand {
  /// The kind of the raw values.
  public typealias _Kind = RawValue._Kind
  /// The raw value as an expression.
  public var fetchExpression: FetchExpression { rawValue.fetchExpression }
}

extension Optional: FetchOperand where Wrapped: FetchOperand {
  /// The kind of the wrapped value.
  public typealias _Kind = Wrapped._Kind
  /// The value as an expression; the constant null if it is nil.
  public var fetchExpression: FetchExpression { self?.fetchExpression ?? .constant(.null) }
}

extension Int: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Int16: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Int32: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Int64: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Double: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Float: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Decimal: FetchValue {
  /// Numbers.
  public typealias _Kind = FetchKind.Number
}
extension Bool: FetchValue {
  /// Booleans.
  public typealias _Kind = FetchKind.Flag
}
extension String: FetchValue {
  /// Strings and URLs.
  public typealias _Kind = FetchKind.Text
}
extension URL: FetchValue {
  /// Strings and URLs: a URL compares by its text.
  public typealias _Kind = FetchKind.Text
}
extension Date: FetchValue {
  /// Dates.
  public typealias _Kind = FetchKind.Instant
}
extension Data: FetchValue {
  /// Binary data.
  public typealias _Kind = FetchKind.Bytes
}
extension UUID: FetchValue {
  /// UUIDs.
  public typealias _Kind = FetchKind.Identifier
}

/// The literal `nil` in a typed condition.
public struct FetchNil: ExpressibleByNilLiteral, Sendable {
  /// Creates the literal.
  public init(nilLiteral: ()) {}
}

/// A value that can be compared with the literal `nil` in a typed condition. The operators are declared for the protocol: with one overload
/// per type, the compiler reports a second error for a misspelled field.
public protocol FetchNilComparable {
  /// Returns a condition that the value is missing or, with false, that it is not.
  func _isNull(_ isNull: Bool) -> FetchPredicate
}

extension FetchNilComparable {
  /// Returns a condition that the value is missing.
  public static func == (left: Self, right: FetchNil) -> FetchPredicate { left._isNull(true) }
  /// Returns a condition that the value is not missing.
  public static func != (left: Self, right: FetchNil) -> FetchPredicate { left._isNull(false) }
}

/// A field with values: ``FetchField``. Functions that accept any field use the protocol instead of the type, so that the compiler reports
/// only one error for a misspelled field.
public protocol FetchValueField: FetchOperand {
  /// The attribute's type.
  associatedtype _Value: FetchValue where _Value._Kind == _Kind
}
