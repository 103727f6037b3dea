extension SourcePort {
  /// The compilation condition for properties that the plugin otherwise generates.
  static let condition = "canImport(ObjectiveC) || \(AccessorSource.switchName)"

  /// Adds a condition to `@NSManaged` properties that is false on Linux, where the plugin generates them with accessors that the compiler
  /// can optimize.
  ///
  /// Properties that are private to their file are not changed, and neither are those that a class overrides, because members of extensions
  /// cannot be overridden.
  mutating func leaveProperties(_ places: [Int], _ tokens: [SourceToken]) {
    var blocks: [(first: Int, last: Int)] = []
    for place in places {
      guard let declaration = declaration(at: place, tokens) else { continue }
      if let last = blocks.last, last.last + 1 == declaration.lowerBound {
        blocks[blocks.count - 1].last = declaration.upperBound - 1
      } else {
        blocks.append((declaration.lowerBound, declaration.upperBound - 1))
      }
    }
    for block in blocks {
      let indentation = indentation(of: tokens[block.first])
      let lines = wholeLines(of: tokens[block.first].range.lowerBound..<tokens[block.last].range.upperBound)
      edits.append((lines.lowerBound..<lines.lowerBound, "\(indentation)#if \(Self.condition)\n"))
      edits.append((lines.upperBound..<lines.upperBound, "\(indentation)#endif\n"))
    }
  }

  /// Returns the tokens of a declaration with `@NSManaged` if they fill whole lines; `nil` if the declaration must not be changed.
  private func declaration(at place: Int, _ tokens: [SourceToken]) -> Range<Int>? {
    var cursor = TokenCursor(tokens)
    cursor.position = place
    while let word = cursor.token, word.word != "var" {
      // Methods would gain nothing.
      if word.isMark("}") || word.word == "func" { return nil }
      cursor.position += 1
    }
    let keyword = cursor.position
    let first = Self.start(ofDeclarationAt: keyword, tokens)
    while let token = cursor.token, !token.isMark("}"), !(token.beginsLine && cursor.position > keyword && Self.begins(token)) {
      if TokenCursor.isOpening(token) { cursor.skipBracketed() } else { cursor.position += 1 }
    }
    let declaration = first..<cursor.position
    guard keyword + 1 < cursor.position, let name = tokens[keyword + 1].name, !folder.overridden.contains(name),
      // Other code on the lines would be removed, too.
      tokens[first].beginsLine, cursor.token?.beginsLine ?? true, !tokens[declaration].contains(where: { $0.isMark(";") })
    else { return nil }
    for word in first..<keyword {
      if tokens[word].word == "override" { return nil }
      // Only the setter can be private.
      if ["private", "fileprivate"].contains(tokens[word].word), !tokens[word + 1].isMark("(") { return nil }
    }
    return declaration
  }

  /// Returns whether a token at the start of a line begins a declaration and does not continue the preceding one.
  private static func begins(_ token: SourceToken) -> Bool {
    switch token.kind {
    case .word(let word): word != "where"
    case .mark: token.isMark("@")
    case .directive: true
    case .escaped, .arrow, .literal: false
    }
  }
}
