// `Documentation/Predicates.md` documents the encoded form.

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
