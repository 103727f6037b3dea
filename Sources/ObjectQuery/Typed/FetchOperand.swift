// FetchOperand: what typed conditions compare, with the kind that says what compares with what.
public import Foundation

/// The kinds of values, which say what can be compared: numbers with numbers of any type, texts with texts.
public enum FetchKind {
  /// Integers, floating-point numbers and decimals.
  public enum Number {}
  /// Strings and URLs.
  public enum Text {}
  /// Instants.
  public enum Instant {}
  /// True and false.
  public enum Flag {}
  /// Binary data.
  public enum Bytes {}
  /// UUIDs.
  public enum Identifier {}
}

/// A value or an expression that a typed condition can compare with: a constant, an optional constant, or a field.
///
/// An enumeration with raw values becomes one by `extension Status: FetchOperand {}`.
public protocol FetchOperand {
  /// The kind of values that it can be compared with: a type of ``FetchKind``.
  associatedtype _Kind
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
}

/// A type that attributes can have.
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
  /// The kind of the value.
  public typealias _Kind = Wrapped._Kind
  /// The value as an expression; the constant nil when there is none.
  public var fetchExpression: FetchExpression { self?.fetchExpression ?? .constant(.null) }
}

extension Int: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Int16: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Int32: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Int64: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Double: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Float: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Decimal: FetchValue {
  /// Numbers compare with each other.
  public typealias _Kind = FetchKind.Number
}
extension Bool: FetchValue {
  /// Truth compares with truth.
  public typealias _Kind = FetchKind.Flag
}
extension String: FetchValue {
  /// Texts compare with each other.
  public typealias _Kind = FetchKind.Text
}
extension URL: FetchValue {
  /// URLs compare as their texts do.
  public typealias _Kind = FetchKind.Text
}
extension Date: FetchValue {
  /// Instants compare with each other.
  public typealias _Kind = FetchKind.Instant
}
extension Data: FetchValue {
  /// Bytes compare with each other.
  public typealias _Kind = FetchKind.Bytes
}
extension UUID: FetchValue {
  /// UUIDs compare with each other.
  public typealias _Kind = FetchKind.Identifier
}

/// The literal `nil` in a typed condition.
public struct FetchNil: ExpressibleByNilLiteral, Sendable {
  /// The literal.
  public init(nilLiteral: ()) {}
}

/// What can be compared with the literal `nil` in a typed condition. The operators are declared for all of them at once: with one function for each type, the
/// compiler takes a field that it does not find for one of those types, and says a second thing about the other side.
public protocol FetchNilComparable {
  /// Whether there is no value, or whether there is one.
  func _isNull(_ isNull: Bool) -> FetchPredicate
}

extension FetchNilComparable {
  /// Whether there is no value.
  public static func == (left: Self, right: FetchNil) -> FetchPredicate { left._isNull(true) }
  /// Whether there is a value.
  public static func != (left: Self, right: FetchNil) -> FetchPredicate { left._isNull(false) }
}

/// A field with values: ``FetchField``. Functions that take any field name it in place of the type, so that the compiler says one thing of a field that it does
/// not find.
public protocol FetchValueField: FetchOperand {
  /// The attribute's type.
  associatedtype _Value: FetchValue where _Value._Kind == _Kind
}
