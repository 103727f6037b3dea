extension SourcePort {
  /// Replaces `request as! NSFetchRequest<Book>` by `NSFetchRequest<Book>(request)` on Linux, where generic Swift classes do not support
  /// such casts. The source then contains the statement twice.
  mutating func replaceCast(_ token: SourceToken, _ cursor: TokenCursor) {
    if replaceArgument(cursor) { return }
    guard let statement = Self.statement(cursor) else {
      if Self.isCast(cursor) {
        remark(token, "the cast to NSFetchRequest fails on Linux: write NSFetchRequest<…>(request) behind #if !canImport(ObjectiveC)")
      }
      return
    }
    let tokens = cursor.tokens
    let whole = tokens[statement.lowerBound].range.lowerBound..<tokens[statement.upperBound - 1].range.upperBound
    // The tokens before the cast have been processed.
    var changed = self
    changed.edits = takeEdits(in: whole)
    changed.handled.formUnion(statement.filter { tokens[$0].word == "as" })
    for place in cursor.position..<statement.upperBound {
      var inner = cursor
      inner.position = place
      changed.visit(at: tokens[place], inner)
    }
    remarks = changed.remarks
    let former = text(of: whole, applying: changed.edits)
    for place in statement {
      var inner = cursor
      inner.position = place
      guard let cast = Self.cast(inner) else { continue }
      let (operand, type) = (tokens[cast.operand], tokens[cast.type])
      guard let first = operand.first, let last = operand.last, let begin = type.first, let end = type.last else { continue }
      let name = text(of: begin.range.lowerBound..<end.range.upperBound, applying: [])
      let isOptional = tokens[place + 1].isMark("?")
      changed.edits.append((first.range.lowerBound..<first.range.lowerBound, isOptional ? "Optional(\(name)(" : "\(name)("))
      changed.edits.append((last.range.upperBound..<end.range.upperBound, isOptional ? "))" : ")"))
    }
    changed.edits.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    let indentation = indentation(of: tokens[statement.lowerBound])
    let lines = ["#if canImport(ObjectiveC)", former, "#else", text(of: whole, applying: changed.edits), "#endif"]
    var (place, before, after) = (whole, "", "")
    if !tokens[statement.lowerBound].beginsLine, statement.lowerBound > 0 {
      place = tokens[statement.lowerBound - 1].range.upperBound..<place.upperBound
      before = "\n" + indentation
    }
    if statement.upperBound < tokens.count, !tokens[statement.upperBound].beginsLine {
      place = place.lowerBound..<tokens[statement.upperBound].range.lowerBound
      after = "\n" + indentation
    }
    edits.append((place, before + lines.joined(separator: "\n" + indentation) + after))
    handled.formUnion(statement)
  }

  /// Replaces `error as CVarArg`, an argument of a format, by the equivalent `error as NSError`: on Linux, errors do not conform to
  /// `CVarArg`.
  ///
  /// - Returns: Whether the tokens at the cursor are such an argument.
  private mutating func replaceArgument(_ cursor: TokenCursor) -> Bool {
    guard let type = cursor.token(after: 1), type.word == "CVarArg", cursor.position > 0,
      cursor.tokens[cursor.position - 1].name?.lowercased().hasSuffix("error") == true
    else { return false }
    edits.append((type.range, "NSError"))
    return true
  }

  /// Returns whether the tokens at the cursor are `as! NSFetchRequest<…>` or `as? NSFetchRequest<…>`.
  private static func isCast(_ cursor: TokenCursor) -> Bool {
    cursor.token?.word == "as" && (cursor.token(after: 1)?.isMark("!") == true || cursor.token(after: 1)?.isMark("?") == true)
      && cursor.token(after: 2)?.word == "NSFetchRequest" && cursor.token(after: 3)?.isMark("<") == true
  }

  /// Returns the operand and the type of a cast.
  private static func cast(_ cursor: TokenCursor) -> (operand: Range<Int>, type: Range<Int>)? {
    guard isCast(cursor), let first = operand(cursor.tokens, before: cursor.position) else { return nil }
    var following = cursor
    following.position += 3
    following.skipAngled()
    return (first..<cursor.position, cursor.position + 2..<following.position)
  }

  /// Returns the start of the expression that ends before a position.
  static func operand(_ tokens: [SourceToken], before position: Int) -> Int? {
    var first = position
    while first > 0 {
      let token = tokens[first - 1]
      if token.isMark(")") || token.isMark("]") {
        first = TokenCursor.opener(tokens, ofBracketAt: first - 1)
        // The called or subscripted expression precedes it.
        guard first > 0, tokens[first].touchesPrevious, isCalled(tokens[first - 1]) else { return first }
      } else if token.isMark(">") {
        var depth = 0
        repeat {
          first -= 1
          if tokens[first].isMark(">") { depth += 1 }
          if tokens[first].isMark("<") { depth -= 1 }
        } while depth > 0 && first > 0
      } else if token.isMark("!") || token.isMark("?") {
        first -= 1
      } else if token.name != nil {
        first -= 1
        guard first > 0, tokens[first - 1].isMark(".") else { return first }
        first -= 1
        if first == 0 || tokens[first].beginsLine == false && !tokens[first].touchesPrevious { return first }
      } else {
        return nil
      }
    }
    return nil
  }

  /// Returns whether a token can end an expression that is called or subscripted.
  private static func isCalled(_ token: SourceToken) -> Bool {
    if case .mark(let mark) = token.kind { return ">)]!?".utf8.contains(mark) }
    return token.name != nil
  }

  /// Returns the statement that contains a cast; `nil` if there is none or the statement has a body.
  private static func statement(_ cursor: TokenCursor) -> Range<Int>? {
    guard let cast = cast(cursor) else { return nil }
    let tokens = cursor.tokens
    let openers = TokenCursor.openers(tokens, before: cast.operand.lowerBound)
    let brace = openers.last { tokens[$0].isMark("{") }
    var (first, depth) = (brace.map { $0 + 1 } ?? 0, 0)
    for place in first...cast.operand.lowerBound {
      // `in` ends a closure's parameters.
      if depth == 0, tokens[place].word == "in", place < cast.operand.lowerBound { first = place + 1 }
      if depth == 0, tokens[place].beginsLine, !continues(tokens, at: place) { first = place }
      if TokenCursor.isOpening(tokens[place]) { depth += 1 }
      if TokenCursor.isClosing(tokens[place]) { depth -= 1 }
    }
    guard let word = tokens[first].word ?? tokens[first].name.map({ _ in "" }) ?? (tokens[first].isMark("(") ? "" : nil),
      !["if", "guard", "while", "switch", "for", "else", "case", "func", "class", "struct", "extension"].contains(word)
    else { return nil }
    var end = TokenCursor(tokens)
    end.position = first
    while end.position < tokens.count {
      if TokenCursor.isOpening(tokens[end.position]) {
        end.skipBracketed()
      } else if TokenCursor.isClosing(tokens[end.position]) {
        break
      } else {
        end.position += 1
      }
      if end.position >= cast.type.upperBound, end.position < tokens.count, tokens[end.position].beginsLine,
        !continues(tokens, at: end.position)
      {
        break
      }
      if end.position < tokens.count, case .directive = tokens[end.position].kind { break }
    }
    return end.position >= cast.type.upperBound ? first..<end.position : nil
  }

  /// Returns whether a line continues the preceding statement.
  private static func continues(_ tokens: [SourceToken], at place: Int) -> Bool {
    if case .mark(let mark) = tokens[place].kind, ".?:&|+-=,<>".utf8.contains(mark) { return true }
    guard place > 0, case .mark(let mark) = tokens[place - 1].kind else { return tokens[place].word == "as" }
    return "=,+-&|:?".utf8.contains(mark)
  }

  /// Removes module names: `Foundation.ValueTransformer` is CoreData's on Linux, and `CoreData.CoreDataDefines` is one of the framework's
  /// headers.
  mutating func unqualify(_ token: SourceToken, _ cursor: TokenCursor) {
    guard cursor.token(after: 1)?.isMark(".") == true, let name = cursor.token(after: 2)?.name, let dot = cursor.token(after: 1) else {
      return
    }
    let isImport = cursor.position > 0 && cursor.tokens[cursor.position - 1].word == "import"
    if token.word == "CoreData" {
      guard isImport, let last = cursor.token(after: 2) else { return }
      return edits.append((dot.range.lowerBound..<last.range.upperBound, ""))
    }
    guard !isImport, Self.namesOfBoth.contains(name), folder.types[name] == nil, !cursor.follows("."), let next = cursor.token(after: 2)
    else {
      return
    }
    edits.append((token.range.lowerBound..<next.range.lowerBound, ""))
  }

  private static let namesOfBoth: Set<String> = [
    "NSPredicate", "NSCompoundPredicate", "NSComparisonPredicate", "NSExpression", "NSSortDescriptor", "ValueTransformer",
    "NSValueTransformerName", "UndoManager",
  ]
}

// MARK: - Rewriting catch clauses and failing casts

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
