// PredicateArgument: what applications give to predicates as `Any`, as constants.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery

/// An argument that no predicate can have.
struct PredicateArgumentError: LocalizedError {
  let type: String
  var errorDescription: String? {
    "a \(type) cannot be an argument of a predicate; give a value that an attribute has, an object, or a collection of these"
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
    case let text as NSString: return .string("\(text)")
    case let number as NSDecimalNumber: return .decimal(number.decimalValue)
    case let number as NSNumber:
      return (AttributeConversion.content(of: number) as? any FetchConstantConvertible)?._fetchConstant ?? .real(number.doubleValue)
    case let date as NSDate: return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate))
    case let identifier as NSUUID: return .uuid(identifier as UUID)
    case let url as NSURL: return .url(url as URL)
    case let data as NSData: return .data(Data(referencing: data))
    case let set as NSSet: return .list(try set.allObjects.map(constant))
    case let set as NSOrderedSet: return .list(try set.array.map(constant))
    case let list as [Any]: return .list(try list.map(constant))
    case let set as any Collection: return .list(try set.map { try constant($0) })
    case let value?: throw PredicateArgumentError(type: "\(Swift.type(of: value))")
    }
  }

  /// Whether a value that is no object meets a condition.
  static func evaluate(_ predicate: FetchPredicate, with value: Any?) throws -> Bool { try predicate.evaluate(with: constant(value)) }
}
