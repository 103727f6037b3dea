// FetchColumn: what typed selections select, and how its values become Swift values.
public import Foundation
public import ObjectModel

/// What a typed selection can select: a field, or an object, which gives its ID.
public protocol FetchColumn: Sendable {
  /// The type of the values.
  associatedtype Output
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
  /// A value out of a result; nil stands for no value.
  ///
  /// - Throws: ``FetchSelectionError`` when the type cannot hold it.
  static func _output(from value: Any?) throws -> Output
}

extension FetchField: FetchColumn where Output: FetchOutput {
  /// A value out of a result.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Output { try Output._output(from: value) }
}

extension FetchObject: FetchColumn where Reach._ObjectID: FetchOutput {
  /// The ID; nil where there is no object.
  public typealias Output = Reach._ObjectID
  /// An ID out of a result.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Reach._ObjectID { try Reach._ObjectID._output(from: value) }
}

/// A value of a selection that its Swift type cannot hold.
public struct FetchSelectionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The type that the selection expects.
  public let expectedType: String
  /// The type of the value; nil when there is none.
  public let valueType: String?

  /// What is wrong and what to do.
  public var description: String {
    guard let valueType else {
      return "A value of type \(expectedType) is missing. Make the attribute optional in the model, or select it with ?? and a value."
    }
    return "A value of type \(valueType) does not fit into \(expectedType). Select it with as(\(valueType).self)."
  }
}

/// A type of the values of a selection.
public protocol FetchOutput {
  /// A value out of a result; nil stands for no value.
  ///
  /// - Throws: ``FetchSelectionError`` when the type cannot hold it.
  static func _output(from value: Any?) throws -> Self
}

extension FetchOutput {
  /// A value of the type itself.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Self {
    if let value = value as? Self { return value }
    throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
  }
}

extension FetchOutput where Self: BinaryInteger {
  /// An integer that the type holds.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Self {
    if let integer = value as? any BinaryInteger, let number = Self(exactly: integer) { return number }
    throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
  }
}

extension FetchOutput where Self: BinaryFloatingPoint {
  /// A number, rounded to the type.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Self {
    switch value {
    case let number as any BinaryFloatingPoint: return Self(number)
    case let number as any BinaryInteger: return Self(number)
    case let number as Decimal: return Self(NSDecimalNumber(decimal: number).doubleValue)
    default: throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
    }
  }
}

extension Optional: FetchOutput where Wrapped: FetchOutput {
  /// A value of the type inside; nil when there is none.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Wrapped? {
    guard let value else { return nil }
    return try Wrapped._output(from: value)
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
  /// A decimal; another number as the decimal that it reads as.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  public static func _output(from value: Any?) throws -> Decimal {
    switch value {
    case let number as Decimal: return number
    case let number as any BinaryInteger: if let integer = Int64(exactly: number) { return Decimal(integer) }
    case let number as Double: if let decimal = DecimalCoding.decimal(shortest: number) { return decimal }
    default: break
    }
    throw FetchSelectionError(expectedType: "Decimal", valueType: value.map { "\(type(of: $0))" })
  }
}
