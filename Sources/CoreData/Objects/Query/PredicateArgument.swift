// PredicateArgument: what applications give to predicates as `Any`, as constants.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery

/// An argument that no predicate can have.
struct PredicateArgumentError: LocalizedError {
  let type: String
  var errorDescription: String? {
    "a \(type) cannot be an argument of a predicate; give a value that an attribute has, an object, an Equatable value, or a collection of these"
  }
}

/// Arguments of predicates.
enum PredicateArgument {
  /// An argument of a format: a constant, an expression, or a list of both.
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

  /// A value as a constant.
  static func constant(_ value: Any?) throws -> FetchConstant {
    switch AttributeConversion.unwrapped(value) {
    case nil, is NSNull: return .null
    case let expression as NSExpression:
      // Where a value is needed only a constant will do.
      guard case .constant(let constant) = try expression.outcome.get() else { throw PredicateArgumentError(type: "\(expression)") }
      return constant
    case let entity as NSEntityDescription: return .entity(entity.name ?? "")
    case let value as any FetchConstantConvertible: return value._fetchConstant
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

  /// A value of a type that no attribute has, which predicates compare in memory.
  private static func inMemory(_ value: Any) throws -> FetchConstant {
    guard let value = InMemoryValue(value) else { throw PredicateArgumentError(type: "\(Swift.type(of: value))") }
    return .inMemory(value)
  }

  /// A value that a store keeps.
  ///
  /// - Throws: ``PredicateArgumentError`` for a value of a type that no attribute has.
  static func stored(_ value: Any?) throws -> (any Sendable)? {
    let constant = try constant(value)
    if case .inMemory(let value) = constant { throw PredicateArgumentError(type: value.typeName) }
    return constant.swiftValue
  }
}

extension FetchConstant {
  /// The value inside; nil for none.
  var anyValue: Any? {
    switch self {
    case .inMemory(let value): value.value
    case .list(let items): items.map(\.anyValue)
    default: swiftValue
    }
  }
}
