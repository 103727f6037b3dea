/// A query for the words of texts, used by SEARCH.
///
/// ```swift
/// let typed = TextQuery(typed: "whale harp")
/// let request = Book.all.where { $0.title.search(typed) }
/// let phrase = TextQuery.phrase("the white whale") && !TextQuery.word("abridged")
/// ```
///
/// A query is a value type that can be sent across isolation boundaries. With a full-text index over the attribute, the cost of a search is
/// proportional to the number of texts with the words. Without one, every text is read. ``init(typed:)`` accepts user input and never
/// throws; ``init(_:)`` throws ``TextQueryError`` for invalid syntax.
///
/// The syntax of a query: `quick brown*` matches all words, the second as a prefix; `"exact phrase"` matches consecutive words; `fox OR
/// dog` matches either word; `-slow` or `NOT slow` excludes a word; parentheses group. OR and NOT are operators only in capitals. OR has
/// lower precedence than adjacent words. All other characters separate words: `e-mail` matches two consecutive words. A query without words
/// matches every text.
public struct TextQuery: Sendable, Hashable {
  /// A node of a query in normal form: no `all` in an `all`, no `any` in an `any`, no `not` of a `not`, and none of them empty except the
  /// root.
  package indirect enum Node: Sendable, Hashable {
    case phrase(TextPhrase)
    case all([Node])
    case any([Node])
    case not(Node)
  }
  package let root: Node

  package init(_ root: Node) { self.root = root }

  // MARK: Parts

  /// Returns a query for texts that contain a word. A text of several words is matched as a phrase.
  public static func word(_ text: String) -> TextQuery { phrase(text) }
  /// Returns a query for texts that contain a word with a prefix.
  public static func prefix(_ text: String) -> TextQuery { phrase(text, isPrefix: true) }
  /// Returns a query for texts that contain consecutive words. If `isPrefix` is true, the last word is a prefix.
  public static func phrase(_ text: String, isPrefix: Bool = false) -> TextQuery {
    TextQuery(TextPhrase(text, isPrefix: isPrefix).map { .phrase($0) } ?? .all([]))
  }
  /// Returns a query for texts that match all queries.
  public static func all(_ queries: [TextQuery]) -> TextQuery { TextQuery(Node.joined(queries.map(\.root), isAll: true)) }
  /// Returns a query for texts that match at least one query. Queries without words are ignored.
  public static func any(_ queries: [TextQuery]) -> TextQuery { TextQuery(Node.joined(queries.map(\.root), isAll: false)) }
  /// Returns a query for texts that match both queries.
  public static func && (left: TextQuery, right: TextQuery) -> TextQuery { all([left, right]) }
  /// Returns a query for texts that match at least one of two queries.
  public static func || (left: TextQuery, right: TextQuery) -> TextQuery { any([left, right]) }
  /// Returns a query for texts that do not match a query. The negation of a query without words is the query itself.
  public static prefix func ! (query: TextQuery) -> TextQuery { TextQuery(query.root.opposite) }

  // MARK: Asking

  /// Whether the query contains no words.
  public var isEmpty: Bool { root.isEmpty }

  /// Returns whether a text matches the query.
  ///
  /// - Complexity: O(*n* · *m*), where *n* is the length of the text and *m* the number of words and phrases.
  public func matches(_ text: String) -> Bool {
    let words = TextWords.normalized(text)
    return words.withUnsafeBufferPointer { root.matches($0) }
  }

  /// Returns whether a text matches, given its words in the form of ``TextWords/normalized(utf8:)``.
  package func matches(words: UnsafeBufferPointer<UInt8>) -> Bool { root.matches(words) }

  /// The distinct words and phrases of the query, except those inside a NOT.
  package var sought: [TextPhrase] {
    var found: [TextPhrase] = []
    func visit(_ node: Node) {
      switch node {
      case .phrase(let phrase): if !found.contains(phrase) { found.append(phrase) }
      case .all(let nodes), .any(let nodes): nodes.forEach(visit)
      case .not: break
      }
    }
    visit(root)
    return found
  }

  /// The query as text. Parsing it returns an equal query.
  public var text: String { root.text(isInner: false) }
}

extension TextQuery: CustomStringConvertible {
  /// The ``text``.
  public var description: String { text }
}

extension TextQuery: FetchConstantConvertible {
  /// The query's text as a constant.
  @_spi(Generated) public var fetchConstant: FetchConstant { .string(text) }
}

extension TextQuery.Node {
  var isEmpty: Bool {
    if case .all(let nodes) = self { nodes.isEmpty } else { false }
  }

  static func joined(_ nodes: [TextQuery.Node], isAll: Bool) -> TextQuery.Node {
    var flat: [TextQuery.Node] = []
    for node in nodes {
      switch node {
      case .all(let inner) where isAll || inner.isEmpty: flat += inner
      case .any(let inner) where !isAll: flat += inner
      default: flat.append(node)
      }
    }
    if flat.count == 1 { return flat[0] }
    return isAll || flat.isEmpty ? .all(flat) : .any(flat)
  }

  var opposite: TextQuery.Node {
    switch self {
    case .not(let node): node
    case .all(let nodes) where nodes.isEmpty: self
    default: .not(self)
    }
  }

  func matches(_ words: UnsafeBufferPointer<UInt8>) -> Bool {
    switch self {
    case .phrase(let phrase): phrase.isIn(words)
    case .all(let nodes): nodes.allSatisfy { $0.matches(words) }
    case .any(let nodes): nodes.contains { $0.matches(words) }
    case .not(let node): !node.matches(words)
    }
  }

  /// Whether a text without words matches.
  package var matchesNothing: Bool {
    switch self {
    case .phrase: false
    case .all(let nodes): nodes.allSatisfy(\.matchesNothing)
    case .any(let nodes): nodes.contains(where: \.matchesNothing)
    case .not(let node): !node.matchesNothing
    }
  }

  func text(isInner: Bool) -> String {
    switch self {
    case .phrase(let phrase): return phrase.text
    case .not(.phrase(let phrase)): return "-" + phrase.text
    case .not(let node): return "-(" + node.text(isInner: false) + ")"
    case .all(let nodes):
      let text = nodes.map { node in
        if case .any = node { "(" + node.text(isInner: false) + ")" } else { node.text(isInner: true) }
      }.joined(separator: " ")
      return text
    case .any(let nodes): return nodes.map { $0.text(isInner: true) }.joined(separator: " OR ")
    }
  }
}

/// A sequence of consecutive words.
package struct TextPhrase: Sendable, Hashable {
  /// The words with a space before and after each. For a prefix, no space follows the last word.
  package let pattern: [UInt8]
  /// Whether the last word is a prefix.
  package let isPrefix: Bool

  /// Creates a phrase from the words of a text; nil if it has none.
  package init?(_ text: String, isPrefix: Bool = false) {
    var words = TextWords.normalized(text)
    guard !words.isEmpty else { return nil }
    if isPrefix { words.removeLast() }
    pattern = words
    self.isPrefix = isPrefix
  }

  /// The number of words.
  package var count: Int { pattern.count { $0 == TextWords.space } - (isPrefix ? 0 : 1) }

  private var spaced: Substring {
    String(decoding: pattern, as: UTF8.self)[...].dropFirst().dropLast(isPrefix ? 0 : 1)
  }

  /// The phrase in the syntax of queries.
  var text: String { count == 1 ? spaced + (isPrefix ? "*" : "") : quoted }

  /// The phrase in quotes, which is also FTS4's syntax: its words contain no special characters.
  package var quoted: String { "\"" + spaced + (isPrefix ? "*\"" : "\"") }

  /// Returns whether words in the form of ``TextWords/normalized(utf8:)`` contain the phrase.
  package func isIn(_ words: UnsafeBufferPointer<UInt8>) -> Bool { pattern.withUnsafeBufferPointer { TextMatching.contains(words, $0) } }

  /// Returns the number of occurrences of the phrase.
  package func occurrences(in words: UnsafeBufferPointer<UInt8>) -> Int {
    var number = 0
    var rest = words
    while let match = pattern.withUnsafeBufferPointer({ TextMatching.firstPosition(of: $0, in: rest) }) {
      number += 1
      rest = UnsafeBufferPointer(rebasing: rest[(match + 1)...])
    }
    return number
  }
}
