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

// MARK: - Finding matches

extension TextQuery {
  /// Returns the ranges of the matched words and phrases in a text, in order. A phrase is one range, and overlapping ranges are joined.
  ///
  /// - Complexity: O(*n* · *m*), where *n* is the length of the text and *m* the number of words and phrases.
  public func ranges(in text: String) -> [Range<String.Index>] {
    let words = TextWords.positions(in: text)
    return positions(among: words).map { words[$0.lowerBound].range.lowerBound..<words[$0.upperBound - 1].range.upperBound }
  }

  /// Returns the excerpt of a text with the most matches, as close to its beginning as possible; its beginning if there are no matches.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - count: The maximum number of words in the excerpt.
  ///   - ellipsis: The text that marks omissions.
  public func snippet(of text: String, words count: Int = 24, ellipsis: String = "…") -> TextSnippet {
    let words = TextWords.positions(in: text)
    let found = positions(among: words)
    let length = max(count, 1)
    guard words.count > length else {
      return TextSnippet(
        text: text, ranges: found.map { words[$0.lowerBound].range.lowerBound..<words[$0.upperBound - 1].range.upperBound })
    }
    // The number of words before the first match shown.
    let lead = length / 6
    var best = (start: 0, shown: 0)
    for position in found {
      let start = min(max(position.lowerBound - lead, 0), words.count - length)
      let shown = found.count { $0.lowerBound >= start && $0.upperBound <= start + length }
      if shown > best.shown { best = (start, shown) }
    }
    let last = best.start + length - 1
    let start = best.start == 0 ? text.startIndex : words[best.start].range.lowerBound
    let end = last == words.count - 1 ? text.endIndex : words[last].range.upperBound
    let head = start == text.startIndex ? "" : ellipsis
    let shown = head + text[start..<end] + (end == text.endIndex ? "" : ellipsis)
    // Positions are counted in bytes, which both texts have in common.
    func position(_ index: String.Index) -> String.Index {
      shown.utf8.index(shown.startIndex, offsetBy: head.utf8.count + text.utf8.distance(from: start, to: index))
    }
    return TextSnippet(
      text: shown,
      ranges: found.filter { $0.lowerBound >= best.start && $0.upperBound <= last + 1 }.map {
        position(words[$0.lowerBound].range.lowerBound)..<position(words[$0.upperBound - 1].range.upperBound)
      })
  }

  /// Returns the matched runs of words, in order, without overlaps.
  private func positions(among words: [TextWords.Position]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    for phrase in sought {
      let parts = phrase.words
      guard words.count >= parts.count, let last = parts.last else { continue }
      for start in 0...(words.count - parts.count) {
        let end = start + parts.count - 1
        guard phrase.isPrefix ? words[end].word.utf8.starts(with: last.utf8) : words[end].word.utf8.elementsEqual(last.utf8) else {
          continue
        }
        if zip(parts.dropLast(), words[start...]).allSatisfy({ $0.utf8.elementsEqual($1.word.utf8) }) { found.append(start..<(end + 1)) }
      }
    }
    var result: [Range<Int>] = []
    for range in found.sorted(by: { $0.lowerBound != $1.lowerBound ? $0.lowerBound < $1.lowerBound : $0.upperBound > $1.upperBound }) {
      if let last = result.last, range.lowerBound < last.upperBound {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }
}

extension TextWords {
  struct Position {
    var word: String
    var range: Range<String.Index>
  }

  static func positions(in text: String) -> [Position] {
    var positions: [Position] = []
    var start: String.Index?
    var open = Kind.separator
    let scalars = text.unicodeScalars
    func close(at end: String.Index) {
      if let first = start {
        for word in words(of: String(text[first..<end])) { positions.append(Position(word: word, range: first..<end)) }
      }
      start = nil
      open = .separator
    }
    var index = scalars.startIndex
    while index < scalars.endIndex {
      let kind = kind(of: scalars[index])
      switch kind {
      case .separator: close(at: index)
      case .joining where open == .joining, .mark, .ignored: break
      case .joining, .single:
        close(at: index)
        start = index
        open = kind
      }
      index = scalars.index(after: index)
    }
    close(at: scalars.endIndex)
    return positions
  }
}

extension TextPhrase {
  var words: [String] { pattern.split(separator: TextWords.space).map { String(decoding: $0, as: UTF8.self) } }
}

/// An excerpt of a text, with the ranges of matches in it.
public struct TextSnippet: Sendable, Hashable {
  /// The excerpt, with an ellipsis where text is omitted.
  public let text: String
  /// The ranges of the matches, in order, without overlaps.
  public let ranges: [Range<String.Index>]

  /// Returns the excerpt with markers around the matches, such as `<b>` and `</b>`. The text itself is not escaped.
  public func marked(_ opening: String, _ closing: String) -> String {
    var result = ""
    var position = text.startIndex
    for range in ranges {
      result += text[position..<range.lowerBound] + opening + text[range] + closing
      position = range.upperBound
    }
    return result + text[position...]
  }
}

/// The relevance of texts to queries, as a number to sort by.
///
/// The formula is BM25 without the terms that depend on other texts. Each word or phrase contributes by its number of occurrences, with
/// diminishing returns, and less in long texts. A phrase counts as its words. The relevance of an object is therefore the same in any
/// store, saved or not, and independent of other objects.
package enum TextRelevance {
  /// The saturation of repeated occurrences (*k₁* of BM25).
  private static let saturation = 1.2
  /// The weight of the text length (*b* of BM25).
  private static let lengthShare = 0.75
  /// The assumed average number of words in a text.
  private static let middleLength = 100.0

  /// Returns the relevance of an object with the given texts; 0 without any match.
  package static func of(_ query: TextQuery, _ texts: [String]) -> Double {
    let sought = query.sought
    return texts.reduce(0) { $0 + of(sought, words: TextWords.normalized($1)) }
  }

  /// Returns the contribution of one text, given its words in the form of ``TextWords/normalized(utf8:)``.
  package static func of(_ sought: [TextPhrase], words: [UInt8]) -> Double {
    guard !words.isEmpty else { return 0 }
    let length = Double(words.count { $0 == TextWords.space } - 1)
    let damping = saturation * (1 - lengthShare + lengthShare * length / middleLength)
    return words.withUnsafeBufferPointer { words in
      sought.reduce(0) { sum, phrase in
        let number = Double(phrase.occurrences(in: words))
        return sum + Double(phrase.count) * number * (saturation + 1) / (number + damping)
      }
    }
  }
}
