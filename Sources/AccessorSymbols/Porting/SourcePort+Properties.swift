// SourcePort+Properties: managed properties that are left to the plugin.

extension SourcePort {
  /// The condition under which a source declares what the plugin writes otherwise.
  static let condition = "canImport(ObjectiveC) || \(AccessorSource.switchName)"

  /// Properties with `@NSManaged` get a condition that does not hold on Linux, where the plugin writes them: it writes accessors that the compiler sees through.
  ///
  /// Those stay that no other file sees, and those that a class overrides, which no member of an extension can be.
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

  /// The tokens of a declaration with `@NSManaged`, which fill lines of their own; nil where it has to stay.
  private func declaration(at place: Int, _ tokens: [SourceToken]) -> Range<Int>? {
    var cursor = TokenCursor(tokens)
    cursor.position = place
    while let word = cursor.token, word.word != "var" {
      // Methods gain nothing by it.
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
      // What else stands in the lines would go with it.
      tokens[first].beginsLine, cursor.token?.beginsLine ?? true, !tokens[declaration].contains(where: { $0.isMark(";") })
    else { return nil }
    for word in first..<keyword {
      if tokens[word].word == "override" { return nil }
      // The setter alone may be private.
      if ["private", "fileprivate"].contains(tokens[word].word), !tokens[word + 1].isMark("(") { return nil }
    }
    return declaration
  }

  /// Whether what begins a line begins a declaration, and does not go on with the one before.
  private static func begins(_ token: SourceToken) -> Bool {
    switch token.kind {
    case .word(let word): word != "where"
    case .mark: token.isMark("@")
    case .directive: true
    case .escaped, .arrow, .literal: false
    }
  }
}
