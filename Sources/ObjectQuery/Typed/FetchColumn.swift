public import Foundation
public import ObjectModel

/// A value that a typed selection can return: a field, or an object, which returns its ID.
public protocol FetchColumn: Sendable {
  /// The Swift type of the values.
  associatedtype Output
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
  /// Converts a value of a result; nil is a missing value.
  ///
  /// - Throws: ``FetchSelectionError`` if the type cannot represent it.
  @_spi(Generated) static func output(from value: Any?) throws -> Output
}

extension FetchColumn where Output: FetchOutput {
  /// Converts a value of a result.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Output { try Output.output(from: value) }
}

extension FetchField: FetchColumn where Output: FetchOutput {}

extension FetchObject: FetchColumn where Reach.ObjectID: FetchOutput {
  /// The object ID; nil if there is no object.
  public typealias Output = Reach.ObjectID
}

/// An error for a value of a selection that its Swift type cannot represent.
public struct FetchSelectionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The type that the selection expects.
  public let expectedType: String
  /// The type of the value; nil if the value is missing.
  public let valueType: String?

  /// A description of the error and its fix.
  public var description: String {
    guard let valueType else {
      return "A value of type \(expectedType) is missing. Make the attribute optional in the model, or select it with ?? and a value."
    }
    return "A value of type \(valueType) does not fit into \(expectedType). Select it with as(\(valueType).self)."
  }
}

/// A Swift type that the values of a selection can have.
public protocol FetchOutput {
  /// Converts a value of a result; nil is a missing value.
  ///
  /// - Throws: ``FetchSelectionError`` if the type cannot represent it.
  @_spi(Generated) static func output(from value: Any?) throws -> Self
}

extension FetchOutput {
  /// Returns a value of this type unchanged.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Self {
    if let value = value as? Self { return value }
    throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
  }
}

extension FetchOutput where Self: BinaryInteger {
  /// Converts an integer that the type can represent.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Self {
    if let integer = value as? any BinaryInteger, let number = Self(exactly: integer) { return number }
    throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
  }
}

extension FetchOutput where Self: BinaryFloatingPoint {
  /// Converts a number, rounding it to the type.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Self {
    switch value {
    case let number as any BinaryFloatingPoint: return Self(number)
    case let number as any BinaryInteger: return Self(number)
    case let number as Decimal: return Self(NSDecimalNumber(decimal: number).doubleValue)
    default: throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
    }
  }
}

extension Optional: FetchOutput where Wrapped: FetchOutput {
  /// Converts a value to the wrapped type; returns nil if it is missing.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Wrapped? {
    guard let value else { return nil }
    return try Wrapped.output(from: value)
  }
}

extension Int: FetchOutput {}
extension Int16: FetchOutput {}
extension Int32: FetchOutput {}
extension Int64: FetchOutput {}
extension Double: FetchOutput {}
extension Float: FetchOutput {}
extension Bool: FetchOutput {}
extension String: FetchOutput {}
extension URL: FetchOutput {}
extension Date: FetchOutput {}
extension Data: FetchOutput {}
extension UUID: FetchOutput {}
extension ManagedObjectID: FetchOutput {}
extension Decimal: FetchOutput {
  /// Converts a number to a decimal. A double becomes the shortest decimal that parses to it.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Decimal {
    switch value {
    case let number as Decimal: return number
    case let number as any BinaryInteger: if let integer = Int64(exactly: number) { return Decimal(integer) }
    case let number as Double: if let decimal = DecimalCoding.decimal(shortest: number) { return decimal }
    default: break
    }
    throw FetchSelectionError(expectedType: "Decimal", valueType: value.map { "\(type(of: $0))" })
  }
}
