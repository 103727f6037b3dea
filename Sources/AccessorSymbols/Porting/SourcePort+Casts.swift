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
