extension TokenCursor {
  /// Returns the positions of the open brackets before a position, outermost first.
  static func openers(_ tokens: [SourceToken], before position: Int) -> [Int] {
    var open: [Int] = []
    for place in 0..<min(position, tokens.count) {
      if isOpening(tokens[place]) { open.append(place) }
      if isClosing(tokens[place]) { _ = open.popLast() }
    }
    return open
  }

  static func isOpening(_ token: SourceToken) -> Bool { token.isMark("(") || token.isMark("[") || token.isMark("{") }
  static func isClosing(_ token: SourceToken) -> Bool { token.isMark(")") || token.isMark("]") || token.isMark("}") }

  /// Returns the position of the keyword whose declaration a brace begins; `nil` for a closure or statement.
  static func keyword(_ tokens: [SourceToken], ofBraceAt brace: Int) -> Int? {
    var position = brace - 1
    while position >= 0, !tokens[position].isMark("{"), !tokens[position].isMark("}") {
      if isClosing(tokens[position]) {
        position = opener(tokens, ofBracketAt: position) - 1
        continue
      }
      if let word = tokens[position].word, keywords.contains(word), position + 1 < brace { return position }
      position -= 1
    }
    return nil
  }

  private static let keywords: Set<String> = [
    "class", "struct", "enum", "actor", "protocol", "extension", "func", "init", "subscript", "var", "let", "if", "guard", "for", "while",
    "switch", "do", "catch", "return",
  ]

  /// Returns the position of the bracket that matches a closing one; 0 if there is none.
  static func opener(_ tokens: [SourceToken], ofBracketAt position: Int) -> Int {
    var (depth, place) = (0, position)
    while place >= 0 {
      if isClosing(tokens[place]) { depth += 1 }
      if isOpening(tokens[place]) { depth -= 1 }
      if depth == 0 { return place }
      place -= 1
    }
    return 0
  }

  /// Returns the name of the type or extended type around a position; `nil` outside of types.
  static func type(_ tokens: [SourceToken], around position: Int) -> String? {
    openers(tokens, before: position).reversed().lazy.compactMap { type(tokens, atBrace: $0) }.first
  }

  /// Returns the name of the type or extended type that a brace begins.
  static func type(_ tokens: [SourceToken], atBrace brace: Int) -> String? {
    guard tokens[brace].isMark("{"), isOfType(tokens, braceAt: brace), let keyword = keyword(tokens, ofBraceAt: brace) else { return nil }
    // The last name of `extension Outer.Inner`.
    var name: String?
    for position in keyword + 1..<brace {
      if let found = tokens[position].name { name = found } else if !tokens[position].isMark(".") { break }
      if position + 1 < brace, !tokens[position + 1].isMark("."), tokens[position].name != nil { break }
    }
    return name
  }

  /// Returns whether a brace begins a type or an extension.
  static func isOfType(_ tokens: [SourceToken], braceAt brace: Int) -> Bool {
    guard let place = keyword(tokens, ofBraceAt: brace), let word = tokens[place].word else { return false }
    return ["class", "struct", "enum", "actor", "protocol", "extension"].contains(word)
  }
}
