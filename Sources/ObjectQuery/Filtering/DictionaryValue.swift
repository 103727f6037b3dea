import Foundation
import ObjectModel

/// A value in a dictionary that a predicate is evaluated for.
enum DictionaryValue {
  /// A missing value, such as nil.
  case missing
  /// A value that can be compared.
  case value(FetchConstant)
  /// An object with keys, such as a dictionary.
  case object(any KeyedObject)
  /// An array or a set.
  case many([DictionaryValue], isOrdered: Bool)

  /// Creates the value for a key.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` if no attribute has the type of the value.
  init(_ value: Any, at key: String, _ reading: (any InMemoryReading)? = nil) throws(FetchPredicateError) {
    // `Any` may contain an optional.
    guard let value = AttributeConversion.unwrapped(value) else {
      self = .missing
      return
    }
    if let list = value as? [Any] {
      self = .many(try DictionaryValue.all(list, at: key, reading), isOrdered: true)
    } else if let constant = FetchConstant(scalar: value) {
      if case .object = constant, let object = reading?.object(value) {
        self = .object(object)
      } else {
        self.init(constant)
      }
    } else if let dictionary = value as? [String: Any] {
      self = .object(DictionaryObject(dictionary))
    } else if let dictionary = value as? [AnyHashable: Any] {
      self = .object(DictionaryObject(withAnyKeys: dictionary))
    } else if let set = value as? NSSet {
      self = .many(try DictionaryValue.all(set.allObjects, at: key, reading), isOrdered: false)
    } else if let set = value as? NSOrderedSet {
      self = .many(try DictionaryValue.all(set.array, at: key, reading), isOrdered: true)
    } else if let object = reading?.object(value) {
      self = .object(object)
    } else if let collection = value as? any Collection {
      let isOrdered = !(value is any SetAlgebra)
      self = .many(try DictionaryValue.all(collection.map { $0 as Any }, at: key, reading), isOrdered: isOrdered)
    } else if reading != nil, let value = InMemoryValue(value) {
      self = .value(.inMemory(value))
    } else {
      throw .unsupported(part: "The value of \(key), a \(type(of: value)),", advice: "Use the types that attributes have.")
    }
  }

  /// A constant, whose list is a collection.
  init(_ constant: FetchConstant) {
    if case .list(let items) = constant {
      self = .many(items.map { DictionaryValue($0) }, isOrdered: true)
    } else {
      self = constant.isNull || constant.isNotANumber ? .missing : .value(constant)
    }
  }

  private static func all(
    _ values: [Any], at key: String, _ reading: (any InMemoryReading)?
  ) throws(FetchPredicateError) -> [DictionaryValue] {
    var result: [DictionaryValue] = []
    for value in values { result.append(try DictionaryValue(value, at: key, reading)) }
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
    if case .missing = self { return .many([], isOrdered: true) }
    return self
  }
}

/// An object whose values predicates read by keys, without a model.
package protocol KeyedObject {
  /// The object as a constant, for comparisons with whole objects; nil if it cannot be compared.
  var constant: FetchConstant? { get }

  /// Returns the value of a key; nil if it has none.
  ///
  /// - Parameter key: A name, or names joined by dots, which a dictionary may have as one key.
  /// - Throws: An error if the object has no such key.
  func value(forKey key: String) throws -> Any?
}

/// How predicates read values of types that the query language does not know.
///
/// With it, values of different types are unequal, and comparing them for equality is not an error.
package protocol InMemoryReading {
  /// Returns what a value is read through; nil for a value without keys.
  func object(_ value: Any) -> (any KeyedObject)?

  /// Returns the value of a key of a text, a number or another value of an attribute's type; nil if there is no such key.
  func value(forKey key: String, of constant: FetchConstant) -> Any?
}

/// A dictionary, whose keys may have dots.
struct DictionaryObject: KeyedObject {
  private let whole: Any
  private let values: [String: Any]

  init(_ dictionary: [String: Any]) { (whole, values) = (dictionary, dictionary) }

  init(withAnyKeys dictionary: [AnyHashable: Any]) {
    (whole, values) = (dictionary, Dictionary(dictionary.map { ("\($0.key)", $0.value) }) { first, _ in first })
  }

  var constant: FetchConstant? { InMemoryValue(whole).map { .inMemory($0) } }

  func value(forKey key: String) -> Any? { values[key] }
}

/// What conditions written in Swift are evaluated with where a predicate is evaluated without a model.
package struct EvaluatedValue: FetchEvaluatable {
  /// The value itself.
  package let value: Any?

  package func value(forKeyPath keyPath: String) throws -> Any? {
    guard let dictionary = value as? [String: Any] else { return nil }
    if let value = dictionary[keyPath] { return value }
    var value: Any? = dictionary
    for key in keyPath.split(separator: ".") { value = (value as? [String: Any])?[String(key)] }
    return value
  }
}
