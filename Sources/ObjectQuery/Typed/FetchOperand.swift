public import Foundation

/// The kinds of values. Values of the same kind can be compared: numbers with numbers of any type, texts with texts.
public enum FetchKind {
  /// Integers, floating-point numbers and decimals.
  public enum Number {}
  /// Strings and URLs.
  public enum Text {}
  /// Dates.
  public enum Date {}
  /// Booleans.
  public enum Boolean {}
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
  associatedtype OperandKind
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
}

/// A type that an attribute can have.
public protocol FetchValue: FetchOperand, FetchConstantConvertible, Sendable {}

extension FetchValue {
  /// The value as a constant expression.
  public var fetchExpression: FetchExpression { .constant(fetchConstant) }
}

extension FetchOperand where Self: RawRepresentable, RawValue: FetchOperand {
  /// The kind of the raw values.
  public typealias OperandKind = RawValue.OperandKind
  /// The raw value as an expression.
  public var fetchExpression: FetchExpression { rawValue.fetchExpression }
}

extension FetchOperand where Self: AdditiveArithmetic {
  /// Numbers.
  public typealias OperandKind = FetchKind.Number
}

extension Optional: FetchOperand where Wrapped: FetchOperand {
  /// The kind of the wrapped value.
  public typealias OperandKind = Wrapped.OperandKind
  /// The value as an expression; the constant null if it is nil.
  public var fetchExpression: FetchExpression { self?.fetchExpression ?? .constant(.null) }
}

extension Int: FetchValue {}
extension Int16: FetchValue {}
extension Int32: FetchValue {}
extension Int64: FetchValue {}
extension Double: FetchValue {}
extension Float: FetchValue {}
extension Decimal: FetchValue {}
extension Bool: FetchValue {
  /// Booleans.
  public typealias OperandKind = FetchKind.Boolean
}
extension String: FetchValue {
  /// Strings and URLs.
  public typealias OperandKind = FetchKind.Text
}
extension URL: FetchValue {
  /// Strings and URLs: a URL compares by its text.
  public typealias OperandKind = FetchKind.Text
}
extension Date: FetchValue {
  /// Dates.
  public typealias OperandKind = FetchKind.Date
}
extension Data: FetchValue {
  /// Binary data.
  public typealias OperandKind = FetchKind.Bytes
}
extension UUID: FetchValue {
  /// UUIDs.
  public typealias OperandKind = FetchKind.Identifier
}

/// The literal `nil` in a typed condition.
public struct FetchNil: ExpressibleByNilLiteral, Sendable {
  /// Creates the literal.
  public init(nilLiteral: ()) {}
}

/// A value that can be compared with the literal `nil` in a typed condition. The operators are declared for the protocol: with one overload
/// per type, the compiler reports a second error for a misspelled field.
public protocol FetchNilComparable {
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
}

extension FetchNilComparable {
  /// Returns a condition that the value is missing.
  public static func == (left: Self, right: FetchNil) -> FetchPredicate { .isNull(left.fetchExpression, true) }
  /// Returns a condition that the value is not missing.
  public static func != (left: Self, right: FetchNil) -> FetchPredicate { .isNull(left.fetchExpression, false) }
}

/// A field with values: ``FetchField``. Functions that accept any field use the protocol instead of the type, so that the compiler reports
/// only one error for a misspelled field.
public protocol FetchValueField: FetchOperand {
  /// The attribute's type.
  associatedtype FieldValue: FetchValue where FieldValue.OperandKind == OperandKind
}
