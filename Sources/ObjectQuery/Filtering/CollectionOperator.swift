// CollectionOperator: what the collection operators of key paths compute of values that were read, by the rules of predicates.
import Foundation

/// The operators that compute one value of many: `@count`, `@sum`, `@avg`, `@min`, `@max`.
package enum CollectionOperator {
  /// Whether there is an operator of a name.
  package static func isKnown(_ name: String) -> Bool { PredicateResolution.collectionOperators[name.lowercased()] != nil }

  /// What an operator computes of values; those that are missing count for `@count` only. Nil where it has no result, such as the least of none.
  ///
  /// - Throws: ``FetchPredicateError`` for values that it does not apply to.
  package static func value(of name: String, _ values: [Any?], keyPath: String) throws -> (any Sendable)? {
    guard let function = PredicateResolution.collectionOperators[name.lowercased()] else { return nil }
    let members = try values.map { value -> DictionaryValue in
      // A decimal that is not a number was stored by an older version: it counts, as in stores.
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
