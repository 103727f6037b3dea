// `Documentation/Predicates.md` documents the encoded form.

import Foundation
import ObjectModel

extension FetchPredicate: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case constant, and, or, not, compare
  }

  /// Decodes a predicate.
  ///
  /// - Throws: `DecodingError` with the coding path; also if the predicate is nested deeper than allowed.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, level: 1) }

  /// Encodes the predicate.
  ///
  /// - Throws: `EncodingError` if it contains a condition written in Swift or is nested deeper than allowed.
  public func encode(to encoder: any Encoder) throws {
    guard (try? PredicateDepth.check(self)) != nil else { throw PredicateCoding.tooDeep(self, encoder) }
    try write(to: encoder)
  }

  init(from decoder: any Decoder, level: Int) throws {
    try PredicateCoding.check(level, decoder)
    let container = try decoder.container(keyedBy: Key.self)
    switch try container.onlyKey(of: "predicate") {
    case .constant: self = .constant(try container.decode(Bool.self, forKey: .constant))
    case .and: self = .and(try container.decodeList(forKey: .and) { try FetchPredicate(from: $0, level: level + 1) })
    case .or: self = .or(try container.decodeList(forKey: .or) { try FetchPredicate(from: $0, level: level + 1) })
    case .not: self = .not(try FetchPredicate(from: container.superDecoder(forKey: .not), level: level + 1))
    case .compare: self = .comparison(try FetchComparison(from: container.superDecoder(forKey: .compare), level: level))
    }
  }

  func write(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .constant(let value): try container.encode(value, forKey: .constant)
    case .and(let items): try container.encodeList(items, forKey: .and) { try $0.write(to: $1) }
    case .or(let items): try container.encodeList(items, forKey: .or) { try $0.write(to: $1) }
    case .not(let item): try item.write(to: container.superEncoder(forKey: .not))
    case .comparison(let comparison): try comparison.write(to: container.superEncoder(forKey: .compare))
    case .block(let block):
      let reason = "The condition \(block.name) is written in Swift and cannot be encoded."
      throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: reason))
    }
  }
}

extension FetchComparison: Codable {
  private enum Key: String, CodingKey {
    case left, op = "operator", right, modifier, options
  }

  /// Decodes a comparison.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, level: 1) }

  /// Encodes the comparison.
  ///
  /// - Throws: `EncodingError` if it is nested deeper than allowed or contains a condition written in Swift.
  public func encode(to encoder: any Encoder) throws {
    guard (try? PredicateDepth.check(.comparison(self))) != nil else { throw PredicateCoding.tooDeep(self, encoder) }
    try write(to: encoder)
  }

  init(from decoder: any Decoder, level: Int) throws {
    let container = try decoder.container(keyedBy: Key.self)
    self.init(
      left: try FetchExpression(from: container.superDecoder(forKey: .left), level: level + 1),
      op: try container.decode(ComparisonOperator.self, forKey: .op),
      right: try FetchExpression(from: container.superDecoder(forKey: .right), level: level + 1),
      modifier: try container.decodeIfPresent(ComparisonModifier.self, forKey: .modifier) ?? .direct,
      options: try container.decodeIfPresent(ComparisonOptions.self, forKey: .options) ?? [])
  }

  func write(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try left.write(to: container.superEncoder(forKey: .left))
    try container.encode(op, forKey: .op)
    try right.write(to: container.superEncoder(forKey: .right))
    if modifier != .direct { try container.encode(modifier, forKey: .modifier) }
    if !options.isEmpty { try container.encode(options, forKey: .options) }
  }
}

extension ComparisonOperator: Codable {}
extension ComparisonModifier: Codable {}

extension ComparisonOptions: Codable {
  /// Decodes options from their letters, such as `"cd"`.
  ///
  /// - Throws: `DecodingError` for an unknown letter.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self = []
    for letter in try container.decode(String.self) {
      guard let option = ComparisonOptions.letters.first(where: { $0.letter == letter })?.option else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(letter) is not an option; use c, d, n or l.")
      }
      insert(option)
    }
  }

  /// Encodes the letters.
  ///
  /// - Throws: Errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// Shared functions for coding the parts of predicates. Every part tracks its level, so that malicious input cannot exhaust the stack.
enum PredicateCoding {
  static func check(_ level: Int, _ decoder: any Decoder) throws {
    guard level <= PredicateDepth.limit else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "The predicate is nested deeper than \(PredicateDepth.limit) levels."))
    }
  }

  static func tooDeep(_ value: some Any, _ encoder: any Encoder) -> EncodingError {
    .invalidValue(
      value, .init(codingPath: encoder.codingPath, debugDescription: "It is nested deeper than \(PredicateDepth.limit) levels."))
  }
}

extension KeyedDecodingContainer where Key: CaseIterable {
  /// Returns the first existing key of those that identify a kind of value.
  func onlyKey(of part: String) throws -> Key {
    if let key = Key.allCases.first(where: contains) { return key }
    let names = Key.allCases.map(\.stringValue).joined(separator: ", ")
    throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "A \(part) has one of the keys \(names)."))
  }
}

extension KeyedDecodingContainer {
  func decodeList<Item>(forKey key: Key, _ read: (any Decoder) throws -> Item) throws -> [Item] {
    var list = try nestedUnkeyedContainer(forKey: key)
    var items: [Item] = []
    while !list.isAtEnd { items.append(try read(list.superDecoder())) }
    return items
  }
}

extension KeyedEncodingContainer {
  mutating func encodeList<Item>(_ items: [Item], forKey key: Key, _ write: (Item, any Encoder) throws -> Void) throws {
    var list = nestedUnkeyedContainer(forKey: key)
    for item in items { try write(item, list.superEncoder()) }
  }
}

// MARK: - Coding expressions

extension FetchExpression: Codable {
  // `Key` identifies the kind of an expression, and `Part` has the other keys of some kinds.
  private enum Key: String, CodingKey, CaseIterable {
    case value, object, key, variable, list, function, subquery, element, path
    case condition = "if"
  }
  private enum Part: String, CodingKey {
    case arguments, variable, predicate = "where", index = "at", keys
    case first = "then"
    case second = "else"
  }

  /// Decodes an expression.
  ///
  /// - Throws: `DecodingError` with the coding path; also if the expression is nested deeper than allowed.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, level: 1) }

  /// Encodes the expression.
  ///
  /// - Throws: `EncodingError` if it is nested deeper than allowed or contains a condition written in Swift.
  public func encode(to encoder: any Encoder) throws {
    guard PredicateDepth.allows(self) else { throw PredicateCoding.tooDeep(self, encoder) }
    try write(to: encoder)
  }

  init(from decoder: any Decoder, level: Int) throws {
    try PredicateCoding.check(level, decoder)
    let container = try decoder.container(keyedBy: Key.self)
    let parts = try decoder.container(keyedBy: Part.self)
    func expression(_ decoder: any Decoder) throws -> FetchExpression { try FetchExpression(from: decoder, level: level + 1) }
    // `variable` is also a key within a subquery.
    if container.contains(.subquery) {
      self = .subquery(
        collection: try expression(container.superDecoder(forKey: .subquery)), variable: try parts.decode(String.self, forKey: .variable),
        predicate: try FetchPredicate(from: parts.superDecoder(forKey: .predicate), level: level + 1))
      return
    }
    switch try container.onlyKey(of: "value") {
    case .value: self = .constant(try container.decode(FetchConstant.self, forKey: .value))
    case .object: self = .evaluatedObject
    case .key: self = .keyPath(try container.decode([String].self, forKey: .key))
    case .variable, .subquery: self = .variable(try container.decode(String.self, forKey: .variable))
    case .list: self = .aggregate(try container.decodeList(forKey: .list, expression))
    case .function:
      self = .function(
        try container.decode(String.self, forKey: .function), try parts.decodeList(forKey: .arguments, expression))
    case .element:
      self = .element(try expression(container.superDecoder(forKey: .element)), try parts.decode(CollectionIndex.self, forKey: .index))
    case .path:
      self = .path(try expression(container.superDecoder(forKey: .path)), try parts.decode([String].self, forKey: .keys))
    case .condition:
      self = .conditional(
        try FetchPredicate(from: container.superDecoder(forKey: .condition), level: level + 1),
        try expression(parts.superDecoder(forKey: .first)), try expression(parts.superDecoder(forKey: .second)))
    }
  }

  func write(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    var parts = encoder.container(keyedBy: Part.self)
    switch self {
    case .constant(let value): try container.encode(value, forKey: .value)
    case .evaluatedObject: try container.encode("SELF", forKey: .object)
    case .keyPath(let names): try container.encode(names, forKey: .key)
    case .variable(let name): try container.encode(name, forKey: .variable)
    case .path(let base, let names):
      try base.write(to: container.superEncoder(forKey: .path))
      try parts.encode(names, forKey: .keys)
    case .aggregate(let items): try container.encodeList(items, forKey: .list) { try $0.write(to: $1) }
    case .function(let name, let arguments):
      try container.encode(name, forKey: .function)
      try parts.encodeList(arguments, forKey: .arguments) { try $0.write(to: $1) }
    case .subquery(let collection, let variable, let predicate):
      try collection.write(to: container.superEncoder(forKey: .subquery))
      try parts.encode(variable, forKey: .variable)
      try predicate.write(to: parts.superEncoder(forKey: .predicate))
    case .conditional(let condition, let first, let second):
      try condition.write(to: container.superEncoder(forKey: .condition))
      try first.write(to: parts.superEncoder(forKey: .first))
      try second.write(to: parts.superEncoder(forKey: .second))
    case .element(let base, let index):
      try base.write(to: container.superEncoder(forKey: .element))
      try parts.encode(index, forKey: .index)
    }
  }
}

extension FetchExpression.CollectionIndex: Codable {
  private static let words: [String: FetchExpression.CollectionIndex] = ["FIRST": .first, "LAST": .last, "SIZE": .size]

  /// Decodes `"FIRST"`, `"LAST"`, `"SIZE"` or a number.
  ///
  /// - Throws: `DecodingError` for any other value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let word = try? container.decode(String.self), let index = Self.words[word] {
      self = index
    } else if let position = try? container.decode(Int.self), position >= 0 {
      self = .at(position)
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "An index is FIRST, LAST, SIZE or a number from 0.")
    }
  }

  /// Encodes the word or the number.
  ///
  /// - Throws: Errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .first: try container.encode("FIRST")
    case .last: try container.encode("LAST")
    case .size: try container.encode("SIZE")
    case .at(let position): try container.encode(position)
    }
  }
}

extension FetchConstant: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case null, bool, int, real, decimal, string, date, data, uuid, url, object, entity, list
  }

  /// Decodes a constant of one kind, such as `{"decimal": "19.99"}`. An object is decoded from its URI, if its store is or was open in this
  /// process.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, allowsList: true) }

  private init(from decoder: any Decoder, allowsList: Bool) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let key = try container.onlyKey(of: "constant")
    func cast(_ type: PredicateCast) throws -> FetchConstant {
      if let value = type.cast(.string(try container.decode(String.self, forKey: key))) { return value }
      throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "This text is no \(key.rawValue).")
    }
    switch key {
    case .null: self = .null
    case .bool: self = .bool(try container.decode(Bool.self, forKey: key))
    case .int: self = .int(try container.decode(Int64.self, forKey: key))
    case .real: self = try (try? container.decode(Double.self, forKey: key)).map { .real($0) } ?? cast(.double)
    case .string: self = .string(try container.decode(String.self, forKey: key))
    case .date: self = .date(Date(timeIntervalSinceReferenceDate: try container.decode(Double.self, forKey: key)))
    case .decimal: self = try cast(.decimal)
    case .data: self = try cast(.data)
    case .uuid: self = try cast(.uuid)
    case .url: self = try cast(.url)
    case .object: self = .object(try container.decode(ManagedObjectID.self, forKey: key))
    case .entity: self = .entity(try container.decode(String.self, forKey: key))
    case .list:
      guard allowsList else {
        throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "A list cannot be in a list.")
      }
      self = .list(try container.decodeList(forKey: key) { try FetchConstant(from: $0, allowsList: false) })
    }
  }

  /// Encodes the constant with its kind as the key.
  ///
  /// - Throws: `EncodingError` for the ID of an unsaved object, which is not valid elsewhere, for a value of a type that no attribute has, and for
  ///   a nested list, which could not be decoded.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    if case .list(let items) = self, items.contains(where: { if case .list = $0 { true } else { false } }) {
      throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: "A list cannot be in a list."))
    }
    switch self {
    case .null: try container.encode(true, forKey: .null)
    case .bool(let value): try container.encode(value, forKey: .bool)
    case .int(let value): try container.encode(value, forKey: .int)
    case .real(let value):
      if value.isFinite { try container.encode(value, forKey: .real) } else { try container.encode("\(value)", forKey: .real) }
    case .decimal(let value):
      try container.encode(NSDecimalNumber(decimal: value).description(withLocale: Locale(identifier: "en_US_POSIX")), forKey: .decimal)
    case .string(let value): try container.encode(value, forKey: .string)
    case .date(let value): try container.encode(value.timeIntervalSinceReferenceDate, forKey: .date)
    case .data(let value): try container.encode(value.base64EncodedString(), forKey: .data)
    case .uuid(let value): try container.encode(value.uuidString, forKey: .uuid)
    case .url(let value): try container.encode(value.absoluteString, forKey: .url)
    case .object(let id): try container.encode(id, forKey: .object)
    case .entity(let name): try container.encode(name, forKey: .entity)
    case .list(let items): try container.encodeList(items, forKey: .list) { try $0.encode(to: $1) }
    case .inMemory(let value):
      let reason = "A \(value.typeName) can be compared in memory only and cannot be encoded."
      throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: reason))
    }
  }
}
