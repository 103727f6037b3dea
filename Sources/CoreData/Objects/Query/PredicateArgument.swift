public import Foundation
import ObjectContext
public import ObjectModel
@_spi(Generated) import ObjectQuery

/// The error that a predicate does not support an argument's type.
struct PredicateArgumentError: LocalizedError {
  let type: String
  var errorDescription: String? {
    "a \(type) cannot be an argument of a predicate; give a value that an attribute has, an object, an Equatable value, or a collection of these"
  }
}

/// Converts the arguments of predicates.
enum PredicateArgument {
  /// Returns an argument of a format as an expression: a constant, an expression, or a list of both.
  static func expression(_ value: Any?) throws -> FetchExpression {
    switch AttributeConversion.unwrapped(value) {
    case let expression as NSExpression: return try expression.outcome.get()
    case let list as [Any] where list.contains { $0 is NSExpression }:
      let items = try list.map(expression)
      let constants = items.compactMap { if case .constant(let constant) = $0 { constant } else { nil } }
      return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
    case let value: return .constant(try constant(value))
    }
  }

  /// Returns a value as a constant.
  static func constant(_ value: Any?) throws -> FetchConstant {
    switch AttributeConversion.unwrapped(value) {
    case nil, is NSNull: return .null
    case let expression as NSExpression:
      // Only constants are valid where a value is required.
      guard case .constant(let constant) = try expression.outcome.get() else { throw PredicateArgumentError(type: "\(expression)") }
      return constant
    case let entity as NSEntityDescription: return .entity(entity.name ?? "")
    case let value as any FetchConstantConvertible: return value.fetchConstant
    case let set as NSSet: return .list(try set.allObjects.map(constant))
    case let set as NSOrderedSet: return .list(try set.array.map(constant))
    case let list as [Any]: return .list(try list.map(constant))
    case let dictionary as [AnyHashable: Any]: return try inMemory(dictionary)
    case let value?:
      if let constant = FetchConstant(scalar: value) { return constant }
      if let collection = value as? any Collection { return .list(try collection.map { try constant($0) }) }
      return try inMemory(value)
    }
  }

  /// Returns a value whose type no attribute has, for comparison in memory.
  private static func inMemory(_ value: Any) throws -> FetchConstant {
    guard let value = InMemoryValue(value) else { throw PredicateArgumentError(type: "\(Swift.type(of: value))") }
    return .inMemory(value)
  }

  /// Returns a value that a store can store.
  ///
  /// - Throws: ``PredicateArgumentError`` for a value whose type no attribute has.
  static func stored(_ value: Any?) throws -> (any Sendable)? {
    let constant = try constant(value)
    if case .inMemory(let value) = constant { throw PredicateArgumentError(type: value.typeName) }
    return constant.swiftValue
  }
}

extension FetchConstant {
  /// The wrapped value; nil if there is none.
  var anyValue: Any? {
    switch self {
    case .inMemory(let value): value.value
    case .list(let items): items.map(\.anyValue)
    default: swiftValue
    }
  }
}

// MARK: - Variadic arguments

// Conformances to CVarArg that exist on Apple's systems but not on Linux, so that `value as CVarArg` compiles.

/// Returns a value's description as a format argument.
private func shown(_ value: Any) -> any CVarArg { NSString(string: "\(value)") }

extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension URL: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Array: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Set: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension ManagedObjectID: CVarArg, _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSManagedObject: CVarArg, _CVarArgObject {
  /// The object's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
