/// A position in the tokens of a source, with a parser for types.
struct TokenCursor {
  let tokens: [SourceToken]
  var position = 0

  init(_ tokens: [SourceToken]) { self.tokens = tokens }

  var token: SourceToken? { position < tokens.count ? tokens[position] : nil }
  func token(after count: Int) -> SourceToken? { position + count < tokens.count ? tokens[position + count] : nil }
  var line: Int { token?.line ?? tokens.last?.line ?? 1 }

  func isAt(_ mark: Unicode.Scalar) -> Bool { token?.isMark(mark) ?? false }

  /// Returns whether a punctuation mark precedes the position.
  func follows(_ mark: Unicode.Scalar) -> Bool { position > 0 && tokens[position - 1].isMark(mark) }

  /// Advances past a punctuation mark if it is at the position.
  mutating func take(_ mark: Unicode.Scalar) -> Bool {
    guard isAt(mark) else { return false }
    position += 1
    return true
  }

  /// Advances past the brackets of any kind that begin here. Returns the lines in between that contain `@NSManaged`.
  @discardableResult mutating func skipBracketed() -> [Int] {
    var (depth, managed): (Int, [Int]) = (0, [])
    while let token {
      if token.isMark("(") || token.isMark("[") || token.isMark("{") { depth += 1 }
      if token.isMark(")") || token.isMark("]") || token.isMark("}") { depth -= 1 }
      if token.word == "NSManaged", position > 0, tokens[position - 1].isMark("@") { managed.append(token.line) }
      position += 1
      if depth <= 0 { break }
    }
    return managed
  }

  /// Advances past `<…>`, which begins here.
  mutating func skipAngled() {
    var depth = 0
    while let token {
      if token.isMark("(") || token.isMark("[") {
        skipBracketed()
        continue
      }
      // An unbalanced list ends before the body.
      if token.isMark("{") || token.isMark("}") { return }
      if token.isMark("<") { depth += 1 }
      if token.isMark(">") { depth -= 1 }
      position += 1
      if depth <= 0 { return }
    }
  }

  /// Advances past an attribute's name and arguments, after the `@`, and returns the name.
  mutating func takeAttribute() -> String {
    var name = ""
    while let part = token?.name {
      name += part
      position += 1
      guard isAt("."), token?.touchesPrevious == true else { break }
      name += "."
      position += 1
    }
    if isAt("<") { skipAngled() }
    if isAt("("), token?.touchesPrevious == true { skipBracketed() }
    return name
  }

  // MARK: Types

  /// Parses a type.
  mutating func takeType() -> TypeSyntax {
    let start = position
    while take("@") { _ = takeAttribute() }
    while let word = token?.word, ["inout", "borrowing", "consuming", "sending", "isolated", "__owned", "__shared"].contains(word) {
      position += 1
    }
    if token?.word == "any" {
      position += 1
      return .any(takeComposition(from: start))
    }
    return takeComposition(from: start)
  }

  private mutating func takeComposition(from start: Int) -> TypeSyntax {
    let first = takePostfixed()
    var isComposed = false
    while take("&") {
      isComposed = true
      _ = takePostfixed()
    }
    if isComposed { return .unsupported(text(from: start)) }
    guard token?.kind == .arrow || token?.word == "throws" || token?.word == "async" else { return first }
    while token?.word == "throws" || token?.word == "async" {
      position += 1
      if isAt("(") { skipBracketed() }
    }
    // The result of a method is not part of its last parameter's type.
    guard token?.kind == .arrow else { return first }
    position += 1
    _ = takeType()
    return .unsupported(text(from: start))
  }

  private mutating func takePostfixed() -> TypeSyntax {
    var type = takeSimple()
    while let token, token.touchesPrevious, token.isMark("?") || token.isMark("!") {
      position += 1
      type = .optional(type)
    }
    if isAt("."), token?.touchesPrevious == true, let next = token(after: 1)?.word, next == "Type" || next == "Protocol" {
      let start = position
      position += 2
      return .unsupported(type.text + text(from: start))
    }
    return type
  }

  private mutating func takeSimple() -> TypeSyntax {
    let start = position
    if take("(") {
      var elements: [TypeSyntax] = []
      while let token, !token.isMark(")"), !token.isMark("}") {
        if token.name != nil, self.token(after: 1)?.isMark(":") == true { position += 2 }
        let before = position
        elements.append(takeType())
        if !take(","), position == before { position += 1 }
      }
      _ = take(")")
      return elements.count == 1 ? elements[0] : .tuple(elements)
    }
    if take("[") {
      let key = takeType()
      let value = take(":") ? takeType() : nil
      guard take("]") else { return .unsupported(text(from: start)) }
      return value.map { .dictionary(key, $0) } ?? .array(key)
    }
    return takeNamed(from: start)
  }

  private mutating func takeNamed(from start: Int) -> TypeSyntax {
    var (names, arguments): ([String], [TypeSyntax]) = ([], [])
    while let name = token?.name {
      if name == "some" || name == "repeat" || name == "each" {
        position += 1
        _ = takeType()
        return .unsupported(text(from: start))
      }
      // Arguments before the last name: a type nested in a generic one.
      if !arguments.isEmpty { return .unsupported(text(from: start)) }
      names.append(name)
      position += 1
      if isAt("<") { arguments = takeArguments() }
      guard isAt("."), let next = token(after: 1), next.name != nil, next.word != "Type", next.word != "Protocol" else { break }
      position += 1
    }
    return names.isEmpty ? .unsupported(text(from: start)) : .named(names, arguments: arguments)
  }

  private mutating func takeArguments() -> [TypeSyntax] {
    var arguments: [TypeSyntax] = []
    _ = take("<")
    while let token, !token.isMark(">"), !token.isMark("{"), !token.isMark("}") {
      let before = position
      arguments.append(takeType())
      if !take(","), position == before { position += 1 }
    }
    _ = take(">")
    return arguments
  }

  private func text(from start: Int) -> String {
    tokens[start..<min(position, tokens.count)].reduce(into: "") { text, token in
      if !text.isEmpty, !token.touchesPrevious { text += " " }
      switch token.kind {
      case .word(let name): text += name
      case .escaped(let name): text += "`\(name)`"
      case .mark(let mark): text.unicodeScalars.append(Unicode.Scalar(mark))
      case .arrow: text += "->"
      case .literal, .directive: text += "…"
      }
    }
  }
}

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
