package import ObjectQuery

/// A parser for the texts of options: predicates, columns, sort orders, and assignments in the format language.
///
/// Every function throws ``ToolError`` with ``ExitStatus/usage``, the option's name, and the position of the error.
package enum OptionText {
  /// Parses options before their store is open, so that errors are reported immediately. Returns `nil` if a text can contain URIs of
  /// objects, which are valid only when the store is open.
  static func early<Query>(_ texts: [String?], _ read: () throws -> Query) throws -> Query? {
    texts.contains { $0?.lowercased().contains("objectid") ?? false } ? nil : try read()
  }

  /// Parses a predicate.
  package static func predicate(_ text: String, option: String) throws -> FetchPredicate {
    try parse(option) { try FetchPredicate(format: text) }
  }

  /// Parses columns such as `section.name, count(name) AS n`.
  package static func properties(_ text: String, option: String) throws -> [FetchProperty] {
    try parse(option) { try FetchProperty.list(format: text) }
  }

  /// Parses a sort order such as `-installedSize, name` or `sum(installedSize) desc, section.name asc`.
  ///
  /// - Parameter relevance: The expression for the key `relevance`, sorted in descending order; `nil` if that key has no special meaning.
  package static func sortDescriptors(
    _ text: String, option: String = "--sort", relevance: FetchExpression? = nil
  ) throws -> [FetchSortDescriptor] {
    try pieces(of: text).map { piece in
      var key = piece.text
      var isAscending = true
      var isDirected = false
      if key.hasPrefix("-") || key.hasPrefix("+") {
        isAscending = key.hasPrefix("+")
        isDirected = true
        key = key.dropFirst()
      }
      if let space = key.lastIndex(where: \.isWhitespace), let order = order(key[key.index(after: space)...]) {
        if !isAscending { throw ToolError(.usage, "\(option): “\(piece.text)” has two directions; use one.") }
        isAscending = order
        isDirected = true
        key = key[..<space]
      }
      if let relevance, key == "relevance" {
        return FetchSortDescriptor(expression: relevance, ascending: isDirected && isAscending)
      }
      guard key.contains(where: { !$0.isWhitespace }) else {
        throw ToolError(.usage, "\(option): a key is empty (column \(piece.offset + 1))")
      }
      let isPath = key.allSatisfy { $0.isLetter || $0.isNumber || "_.@".contains($0) }
      if isPath { return FetchSortDescriptor(String(key), ascending: isAscending) }
      let start = piece.offset + (piece.text.count - piece.text.drop { $0 == "-" || $0 == "+" }.count)
      let expression = try parse(option) { try FetchExpression(format: String(repeating: " ", count: start) + key) }
      return FetchSortDescriptor(expression: expression, ascending: isAscending)
    }
  }

  private static func order(_ word: Substring) -> Bool? {
    switch word.lowercased() {
    case "asc", "ascending": true
    case "desc", "descending": false
    default: nil
    }
  }

  /// A new value for a property.
  package struct Assignment: Sendable, Hashable {
    /// The name of the property.
    package let key: String
    /// The new value.
    package let value: FetchExpression
  }

  /// Parses assignments such as `price = price * 2, name = uppercase(name)`.
  package static func assignments(_ text: String, option: String = "--set") throws -> [Assignment] {
    var assignments: [Assignment] = []
    for piece in try pieces(of: text) {
      func fail(_ message: String) -> ToolError { ToolError(.usage, "\(option): \(message) (column \(piece.offset + 1))") }
      guard let sign = piece.text.firstIndex(of: "=") else { throw fail("Expected a property, =, and its new value") }
      var key = piece.text[..<sign]
      while key.last?.isWhitespace ?? false { key.removeLast() }
      if key.hasPrefix("#") { key.removeFirst() }
      guard !key.isEmpty, key.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }) else {
        throw fail("Expected the name of a property before =")
      }
      guard !assignments.contains(where: { $0.key == key }) else { throw fail("\(key) is set twice") }
      let start = piece.offset + piece.text.distance(from: piece.text.startIndex, to: sign) + 1
      let value = try parse(option) {
        try FetchExpression(format: String(repeating: " ", count: start) + piece.text[piece.text.index(after: sign)...])
      }
      assignments.append(Assignment(key: String(key), value: value))
    }
    return assignments
  }

  // MARK: Help

  private static func parse<Result>(_ option: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as PredicateFormatError {
      throw ToolError(.usage, "\(option): \(error.message) (column \(error.column))")
    }
  }

  /// An element of a list, without surrounding spaces.
  private struct Piece {
    /// The number of characters in the list before it.
    var offset: Int
    var text: Substring
  }

  /// Returns the elements between commas, ignoring commas in brackets and strings.
  private static func pieces(of list: String) throws -> [Piece] {
    var pieces: [Piece] = []
    var start = list.startIndex
    var depth = 0
    var quote: Character?
    var isEscaped = false
    func add(_ end: String.Index) {
      var text = list[start..<end]
      while text.first?.isWhitespace ?? false { text.removeFirst() }
      while text.last?.isWhitespace ?? false { text.removeLast() }
      pieces.append(Piece(offset: list.distance(from: list.startIndex, to: text.startIndex), text: text))
    }
    for index in list.indices {
      let character = list[index]
      if isEscaped {
        isEscaped = false
      } else if let open = quote {
        if character == "\\" { isEscaped = true } else if character == open { quote = nil }
      } else {
        switch character {
        case "\"", "'": quote = character
        case "(", "[", "{": depth += 1
        case ")", "]", "}": depth -= 1
        case "," where depth == 0:
          add(index)
          start = list.index(after: index)
        default: break
        }
      }
    }
    add(list.endIndex)
    return pieces
  }
}
