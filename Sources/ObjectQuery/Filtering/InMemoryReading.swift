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
