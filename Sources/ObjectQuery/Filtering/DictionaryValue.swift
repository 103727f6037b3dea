import Foundation
import ObjectModel

/// A value in a dictionary that a predicate is evaluated for.
enum DictionaryValue {
  /// A missing value, such as nil.
  case missing
  /// A value that can be compared.
  case value(FetchConstant)
  /// A dictionary.
  case object([String: Any])
  /// An array or a set.
  case many([DictionaryValue])

  /// Creates the value for a key.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` if no attribute has the type of the value.
  init(_ value: Any, at key: String) throws(FetchPredicateError) {
    // `Any` may contain an optional.
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional {
      guard let inner = mirror.children.first?.value else {
        self = .missing
        return
      }
      self = try DictionaryValue(inner, at: key)
      return
    }
    if let dictionary = value as? [String: Any] {
      self = .object(dictionary)
    } else if let list = value as? [Any] {
      self = try .many(DictionaryValue.all(list, at: key))
    } else if let constant = (value as? any FetchConstantConvertible)?._fetchConstant {
      if case .list(let items) = constant {
        self = .many(items.map { .value($0) })
      } else {
        self = constant.isNull || constant.isNotANumber ? .missing : .value(constant)
      }
    } else if let set = value as? any Collection {
      self = try .many(DictionaryValue.all(set.map { $0 as Any }, at: key))
    } else if value is NSNull {
      self = .missing
    } else if let integer = value as? any BinaryInteger {
      self = .value(Int64(exactly: integer).map { .int($0) } ?? .decimal(Decimal(string: "\(integer)") ?? .nan))
    } else {
      throw .unsupported(part: "The value of \(key), a \(type(of: value)),", advice: "Use the types that attributes have.")
    }
  }

  private static func all(_ values: [Any], at key: String) throws(FetchPredicateError) -> [DictionaryValue] {
    var result: [DictionaryValue] = []
    for value in values { result.append(try DictionaryValue(value, at: key)) }
    return result
  }

  /// Returns the value as a constant.
  ///
  /// - Throws: ``FetchPredicateError`` for a dictionary or a collection.
  func constant(of expression: FetchExpression) throws(FetchPredicateError) -> FetchConstant {
    switch self {
    case .missing: return .null
    case .value(let constant): return constant
    case .object: throw .unsupported(part: "The dictionary at \(expression)", advice: "Compare one of its values.")
    case .many: throw .toManyKeyNotAllowed(key: "\(expression)", keyPath: "\(expression)", entity: "the dictionary")
    }
  }

  /// The value, or an empty collection if it is missing.
  var collection: DictionaryValue {
    if case .missing = self { return .many([]) }
    return self
  }
}

/// A dictionary for conditions written in Swift.
struct DictionaryObject: FetchEvaluatable {
  let dictionary: [String: Any]

  func value(forKeyPath keyPath: String) throws -> Any? {
    if let value = dictionary[keyPath] { return value }
    var value: Any? = dictionary
    for key in keyPath.split(separator: ".") { value = (value as? [String: Any])?[String(key)] }
    return value
  }
}
