/// Casts and patterns whose types match on Apple's systems only: errors of an application are not `NSError`s on Linux, and the sets of relationships are not
/// `NSMutableSet`s.
extension SourcePort {
  /// `catch let error as NSError {` is `catch { let error = error as NSError`, which catches an application's own errors on Linux, too.
  mutating func replaceCatch(_ token: SourceToken, _ cursor: TokenCursor) {
    let tokens = cursor.tokens
    var brace = cursor.position + 1
    while brace < tokens.count, !tokens[brace].isMark("{") {
      if TokenCursor.isClosing(tokens[brace]) { return }
      var inner = TokenCursor(tokens)
      inner.position = brace
      if TokenCursor.isOpening(tokens[brace]) { inner.skipBracketed() } else { inner.position += 1 }
      brace = inner.position
    }
    guard brace < tokens.count else { return }
    let pattern = tokens[cursor.position + 1..<brace]
    let words = pattern.map(\.word)
    let start = cursor.position + 1
    if words == ["is", "NSError"] {
      edits.append((token.range.upperBound..<tokens[brace].range.lowerBound, " "))
    } else if words.count == 4, let keyword = words[0], ["let", "var"].contains(keyword), words[2...] == ["as", "NSError"],
      let name = tokens[start + 1].name
    {
      edits.append((token.range.upperBound..<tokens[brace].range.lowerBound, " "))
      guard let next = brace + 1 < tokens.count ? tokens[brace + 1] : nil, !next.isMark("}") else { return }
      let declaration = "\(keyword) \(name) = error as NSError"
      let text = next.beginsLine ? "\n\(indentation(of: next))\(declaration)" : " \(declaration);"
      edits.append((tokens[brace].range.upperBound..<tokens[brace].range.upperBound, text))
    } else if zip(words, words.dropFirst()).contains(where: { ["as", "is"].contains($0) && $1 == "NSError" }) {
      remark(token, Self.patternAdvice)
    }
  }

  /// `case let error as NSError` is remarked on.
  mutating func visitCase(_ token: SourceToken, _ cursor: TokenCursor) {
    let words = (1...4).map { cursor.token(after: $0)?.word }
    if Array(words[0...1]) == ["is", "NSError"] || ["let", "var"].contains(words[0]) && Array(words[2...3]) == ["as", "NSError"] {
      remark(token, Self.patternAdvice)
    }
  }

  private static let patternAdvice =
    "on Linux a pattern with NSError does not match an application's own errors: write error as NSError behind the pattern"

  /// `error as? NSError` is `error as NSError?`, and `object.value(forKey: key) as? NSMutableSet` is `mutableSetValue(forKey:)`.
  ///
  /// - Returns: Whether one of them is here.
  mutating func replaceFailingCast(_ cursor: TokenCursor) -> Bool {
    guard let mark = cursor.token(after: 1), mark.isMark("?") || mark.isMark("!"), let type = cursor.token(after: 2), cursor.position > 0
    else { return false }
    let former = cursor.tokens[cursor.position - 1]
    if type.word == "NSError", mark.isMark("?"), former.name?.lowercased().hasSuffix("error") == true {
      edits.append((mark.range.lowerBound..<type.range.upperBound, " NSError?"))
      return true
    }
    return type.word == "NSMutableSet" && cursor.token(after: 3)?.isMark(".") != true && replaceSet(cursor, mark, type)
  }

  private mutating func replaceSet(_ cursor: TokenCursor, _ mark: SourceToken, _ type: SourceToken) -> Bool {
    let tokens = cursor.tokens
    guard tokens[cursor.position - 1].isMark(")") else { return false }
    let opener = TokenCursor.opener(tokens, ofBracketAt: cursor.position - 1)
    guard opener > 0, opener + 1 < tokens.count, let label = tokens[opener + 1].word, ["forKey", "forKeyPath"].contains(label) else {
      return false
    }
    if tokens[opener - 1].word == "primitiveValue" {
      remark(tokens[cursor.position], "on Linux the primitive value is no NSMutableSet: use mutableSetValue(forKey:)")
      return true
    }
    guard tokens[opener - 1].word == "value", let first = Self.operand(tokens, before: cursor.position) else { return false }
    let isChained = tokens[first..<opener].contains { $0.isMark("?") }
    guard !isChained || mark.isMark("?") else { return false }
    if !isChained, mark.isMark("?") {
      edits.append((tokens[first].range.lowerBound..<tokens[first].range.lowerBound, "Optional("))
    }
    edits.append((tokens[opener - 1].range, "mutableSetValue"))
    let end = tokens[cursor.position - 1].range.upperBound
    edits.append((end..<type.range.upperBound, !isChained && mark.isMark("?") ? ")" : ""))
    return true
  }
}
