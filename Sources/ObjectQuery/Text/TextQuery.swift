// TextQuery: what SEARCH looks for in texts: words, beginnings of words, phrases, and what joins them.

/// A question about the words of texts.
///
/// ```swift
/// let typed = TextQuery(typed: "whale harp")
/// let request = Book.all.where { $0.title.search(typed) }
/// let phrase = TextQuery.phrase("the white whale") && !TextQuery.word("abridged")
/// ```
///
/// A query is a value that can be sent anywhere. With a full-text index over the attribute a search costs as much as there are texts with the words; without
/// one every text is read. ``init(typed:)`` takes whatever somebody typed and never throws, ``init(_:)`` throws ``TextQueryError`` where the text breaks the
/// rules below.
///
/// The text of a query has these forms: `quick brown*` asks for all words, the second as a beginning; `"exact phrase"` for these words in a row; `fox OR dog`
/// for one of two; `-slow` or `NOT slow` for texts without the word; parentheses group. OR and NOT are words of the language in capitals only. OR binds less
/// than the words that stand side by side. All other characters part words: `e-mail` asks for two words in a row. A query without words asks nothing, and every
/// text meets it.
public struct TextQuery: Sendable, Hashable {
  /// A query in its normal form: no `all` in an `all`, no `any` in an `any`, no `not` of a `not`, none of them empty but the whole.
  package indirect enum Node: Sendable, Hashable {
    case phrase(TextPhrase)
    case all([Node])
    case any([Node])
    case not(Node)
  }
  package let root: Node

  package init(_ root: Node) { self.root = root }

  // MARK: Parts

  /// Texts that have a word. A text that parts into several words asks for them as a phrase.
  public static func word(_ text: String) -> TextQuery { phrase(text) }
  /// Texts that have a word with a beginning.
  public static func prefix(_ text: String) -> TextQuery { phrase(text, isPrefix: true) }
  /// Texts that have words in a row; with `isPrefix`, the last word may go on.
  public static func phrase(_ text: String, isPrefix: Bool = false) -> TextQuery {
    TextQuery(TextPhrase(text, isPrefix: isPrefix).map { .phrase($0) } ?? .all([]))
  }
  /// Texts that meet all queries.
  public static func all(_ queries: [TextQuery]) -> TextQuery { TextQuery(Node.joined(queries.map(\.root), isAll: true)) }
  /// Texts that meet some of the queries; those without words do not count.
  public static func any(_ queries: [TextQuery]) -> TextQuery { TextQuery(Node.joined(queries.map(\.root), isAll: false)) }
  /// Texts that meet both.
  public static func && (left: TextQuery, right: TextQuery) -> TextQuery { all([left, right]) }
  /// Texts that meet one of them.
  public static func || (left: TextQuery, right: TextQuery) -> TextQuery { any([left, right]) }
  /// Texts that do not meet a query. The opposite of a query without words is that query itself.
  public static prefix func ! (query: TextQuery) -> TextQuery { TextQuery(query.root.opposite) }

  // MARK: Asking

  /// Whether the query asks for no word.
  public var isEmpty: Bool { root.isEmpty }

  /// Whether a text meets the query. Complexity: linear in the text for each word or phrase.
  public func matches(_ text: String) -> Bool {
    let words = TextWords.normalized(text)
    return words.withUnsafeBufferPointer { root.matches($0) }
  }

  /// Whether a text meets it whose words are given as ``TextWords/normalized(utf8:)`` gives them.
  package func matches(words: UnsafeBufferPointer<UInt8>) -> Bool { root.matches(words) }

  /// The words and phrases that it looks for, each once, those behind a NOT left out.
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

  /// The query as text; reading it gives an equal one.
  public var text: String { root.text(isInner: false) }
}

extension TextQuery: CustomStringConvertible {
  /// ``text``.
  public var description: String { text }
}

extension TextQuery: FetchConstantConvertible {
  /// The query's text as a constant.
  public var _fetchConstant: FetchConstant { .string(text) }
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

  /// Whether a text without any word meets it.
  package var isMetByNothing: Bool {
    switch self {
    case .phrase: false
    case .all(let nodes): nodes.allSatisfy(\.isMetByNothing)
    case .any(let nodes): nodes.contains(where: \.isMetByNothing)
    case .not(let node): !node.isMetByNothing
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

/// Words in a row.
package struct TextPhrase: Sendable, Hashable {
  /// The words with a space before and behind each; of a prefix not behind the last, which may go on.
  package let pattern: [UInt8]
  /// Whether the last word may go on.
  package let isPrefix: Bool

  /// The words of a text; nil where it has none.
  package init?(_ text: String, isPrefix: Bool = false) {
    var words = TextWords.normalized(text)
    guard !words.isEmpty else { return nil }
    if isPrefix { words.removeLast() }
    pattern = words
    self.isPrefix = isPrefix
  }

  /// How many words they are.
  package var count: Int { pattern.count { $0 == TextWords.space } - (isPrefix ? 0 : 1) }

  private var spaced: Substring {
    String(decoding: pattern, as: UTF8.self)[...].dropFirst().dropLast(isPrefix ? 0 : 1)
  }

  /// The phrase in a query's text.
  var text: String { count == 1 ? spaced + (isPrefix ? "*" : "") : quoted }

  /// The phrase in quotes, which is also how FTS4 writes it: its words have no character that means anything there.
  package var quoted: String { "\"" + spaced + (isPrefix ? "*\"" : "\"") }

  /// Whether words, given as ``TextWords/normalized(utf8:)`` gives them, have them in a row.
  package func isIn(_ words: UnsafeBufferPointer<UInt8>) -> Bool { pattern.withUnsafeBufferPointer { TextMatching.contains(words, $0) } }

  /// How often they have them.
  package func occurrences(in words: UnsafeBufferPointer<UInt8>) -> Int {
    var number = 0
    var rest = words
    while let place = pattern.withUnsafeBufferPointer({ TextMatching.firstPlace(of: $0, in: rest) }) {
      number += 1
      rest = UnsafeBufferPointer(rebasing: rest[(place + 1)...])
    }
    return number
  }
}
