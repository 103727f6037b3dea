import Foundation

/// The collection operators of key paths that compute one value from many: `@count`, `@sum`, `@avg`, `@min`, `@max`. They follow the rules
/// of predicates.
package enum CollectionOperator {
  /// Returns whether an operator exists.
  package static func isKnown(_ name: String) -> Bool { PredicateResolution.collectionOperators[name.lowercased()] != nil }

  /// Returns the result of an operator over values; nil if it is undefined, such as the minimum of no values. Only `@count` includes missing
  /// values.
  ///
  /// - Throws: ``FetchPredicateError`` if the operator does not support the values.
  package static func value(of name: String, _ values: [Any?], keyPath: String) throws -> (any Sendable)? {
    guard let function = PredicateResolution.collectionOperators[name.lowercased()] else { return nil }
    let members = try values.map { value -> DictionaryValue in
      // A decimal NaN was stored by an older version. It counts, as in stores.
      if let number = value as? Decimal, number.isNaN { return .value(.decimal(number)) }
      return try value.map { try DictionaryValue($0, at: keyPath) } ?? .missing
    }
    switch try DictionaryEvaluator.result(of: function, members, .keyPath(keyPath.split(separator: ".").map(String.init))) {
    case .int(let number): return Int(number)
    case .real(let number): return number
    case .decimal(let number): return number
    case .date(let date): return date
    case .string(let text): return text
    case .url(let url): return url
    case .bool(let flag): return flag
    case .data(let data): return data
    case .uuid(let uuid): return uuid
    case .null, .object, .entity, .list, .inMemory: return nil
    }
  }
}
