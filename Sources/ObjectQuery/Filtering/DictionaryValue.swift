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
