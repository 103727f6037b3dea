extension SourcePort {
  /// Adds an `#else` branch with a closure to `center.addObserver(self, selector: #selector(saved(_:)), name: …, object: …)` if one of the
  /// sources declares the method in the class.
  ///
  /// - Returns: Whether the branch was added.
  mutating func replaceObserver(_ cursor: TokenCursor) -> Bool {
    guard let statement = statement(cursor), let type = TokenCursor.type(cursor.tokens, around: cursor.position) else { return false }
    let (tokens, arguments) = (cursor.tokens, statement.arguments)
    guard arguments.count == 4, arguments.map(\.label) == [nil, "selector", "name", "object"],
      tokens[arguments[0].range].map(\.word) == ["self"], let method = method(tokens, Self.selector(tokens, arguments[1].range)),
      let call = folder.call(of: method, in: type)
    else { return false }
    let (name, object) = (text(arguments[2].range, tokens), text(arguments[3].range, tokens))
    let parameter = call.hasSuffix("()") ? "_" : "notification"
    let registration = "\(statement.receiver)addObserver(forName: \(name), object: \(object), queue: nil) { [weak self] \(parameter) in"
    let keepsToken = folder.typesWithTokens.contains(type)
    let begin = keepsToken ? "self.\(Self.tokens).append((\(name), \(object) as AnyObject?, " : "_ = "
    alternate(statement, tokens, [begin + registration, "  self?.\(call)", keepsToken ? "}))" : "}"])
    // The selector is compiled only with Objective-C.
    if let selector = arguments[1].range.first(where: { tokens[$0].word == "#selector" }) { handled.insert(selector) }
    return true
  }

  /// Extends `center.removeObserver(self)` to remove the closures that replace the methods. Calls in `deinit` are not changed: the closures
  /// have no effect without their object.
  mutating func replaceRemoval(_ cursor: TokenCursor) {
    guard let statement = statement(cursor), let type = TokenCursor.type(cursor.tokens, around: cursor.position),
      folder.typesWithTokens.contains(type), !Self.isInDeinit(cursor), PortedFolder.removesItself(cursor)
    else { return }
    let (tokens, arguments) = (cursor.tokens, statement.arguments)
    func condition(_ label: String, _ comparison: String) -> [String] {
      guard let argument = arguments.first(where: { $0.label == label }) else { return [] }
      let value = text(argument.range, tokens)
      return value == "nil" ? [] : [comparison.replacing("…", with: value)]
    }
    let conditions = condition("name", "observer.name == …") + condition("object", "observer.object === (… as AnyObject?)")
    var lines = ["self.\(Self.tokens).removeAll { observer in"]
    if !conditions.isEmpty { lines.append("  guard \(conditions.joined(separator: ", ")) else { return false }") }
    lines += ["  \(statement.receiver)removeObserver(observer.token)", "  return true", "}"]
    alternate(statement, tokens, lines)
  }

  /// Declares storage for the tokens of the closures in a class that removes its observers.
  mutating func declareTokens(_ cursor: TokenCursor) {
    guard let name = cursor.token(after: 1)?.name, folder.typesWithTokens.contains(name) else { return }
    var following = cursor
    while let next = following.token, !next.isMark("{") {
      if next.isMark("}") { return }
      following.position += 1
    }
    let brace = following.position
    following.skipBracketed()
    guard brace < following.position, !cursor.tokens[brace..<following.position].contains(where: { $0.word == Self.tokens }) else { return }
    let place = cursor.tokens[brace].range.upperBound
    let indentation = indentation(of: cursor.tokens[cursor.position]) + "  "
    let lines = [
      "", "#if !canImport(ObjectiveC)", "// The closures that observe notifications, by what they observe.",
      "var \(Self.tokens): [(name: Notification.Name?, object: AnyObject?, token: any NSObjectProtocol)] = []", "#endif",
    ]
    // Anything that follows the brace moves to a new line.
    let next = brace + 1 < cursor.tokens.count && !cursor.tokens[brace + 1].beginsLine ? "\n" + indentation : ""
    edits.append((place..<place, lines.joined(separator: "\n" + indentation) + next))
  }

  private static let tokens = "notificationObservers"

  /// Returns whether the cursor is in a `deinit`.
  static func isInDeinit(_ cursor: TokenCursor) -> Bool {
    TokenCursor.openers(cursor.tokens, before: cursor.position).contains { brace in
      cursor.tokens[brace].isMark("{") && brace > 0 && cursor.tokens[brace - 1].word == "deinit"
    }
  }

  /// A call of a notification center's method that is a statement.
  private struct Statement {
    /// The tokens of the call, including its receiver.
    var range: Range<Int>
    /// The text before the method's name.
    var receiver: String
    var arguments: [(label: String?, range: Range<Int>)]
  }

  private func statement(_ cursor: TokenCursor) -> Statement? {
    var following = cursor
    following.position += 1
    guard following.isAt("("), let start = Self.receiver(of: cursor) else { return nil }
    let first = following.position + 1
    following.skipBracketed()
    let arguments = Self.arguments(following.tokens, first..<max(first, following.position - 1))
    let receiver = text(of: cursor.tokens[start].range.lowerBound..<cursor.tokens[cursor.position].range.lowerBound, applying: [])
    return Statement(range: start..<following.position, receiver: receiver, arguments: arguments)
  }

  private func text(_ range: Range<Int>, _ tokens: [SourceToken]) -> String {
    text(of: tokens[range.lowerBound].range.lowerBound..<tokens[range.upperBound - 1].range.upperBound, applying: [])
  }

  /// Compiles the statement only with Objective-C, and other lines otherwise.
  private mutating func alternate(_ statement: Statement, _ tokens: [SourceToken], _ other: [String]) {
    let whole = tokens[statement.range.lowerBound].range.lowerBound..<tokens[statement.range.upperBound - 1].range.upperBound
    let lines = ["#if canImport(ObjectiveC)", text(of: whole, applying: []), "#else"] + other + ["#endif"]
    edits.append((whole, lines.joined(separator: "\n" + indentation(of: tokens[statement.range.lowerBound]))))
  }

  /// Returns the start of a call's receiver; `nil` if something else precedes it on its line.
  private static func receiver(of cursor: TokenCursor) -> Int? {
    var position = cursor.position
    while position > 0,
      cursor.tokens[position].touchesPrevious || cursor.tokens[position].isMark(".") || cursor.tokens[position - 1].isMark(".")
    {
      if cursor.tokens[position].beginsLine, !cursor.tokens[position].isMark(".") { break }
      position -= 1
      guard cursor.tokens[position].name != nil || cursor.tokens[position].isMark(".") else { return nil }
    }
    return cursor.tokens[position].beginsLine && position < cursor.position ? position : nil
  }

  /// Returns the arguments between parentheses.
  private static func arguments(_ tokens: [SourceToken], _ range: Range<Int>) -> [(label: String?, range: Range<Int>)] {
    var arguments: [(label: String?, range: Range<Int>)] = []
    var (start, depth) = (range.lowerBound, 0)
    for position in range.lowerBound...range.upperBound {
      let isEnd = position == range.upperBound
      if !isEnd {
        let token = tokens[position]
        if token.isMark("(") || token.isMark("[") || token.isMark("{") { depth += 1 }
        if token.isMark(")") || token.isMark("]") || token.isMark("}") { depth -= 1 }
        guard depth == 0, token.isMark(",") else { continue }
      }
      if start + 1 < position, let label = tokens[start].name, tokens[start + 1].isMark(":") {
        if start + 2 < position { arguments.append((label, start + 2..<position)) }
      } else if start < position {
        arguments.append((nil, start..<position))
      }
      start = position + 1
    }
    return arguments
  }

  /// Returns the position of the selector's expression: the argument itself, or the initial value of the constant that it names.
  private static func selector(_ tokens: [SourceToken], _ range: Range<Int>) -> Range<Int> {
    guard range.count == 1, let name = tokens[range.lowerBound].name else { return range }
    for position in tokens.indices.dropLast(4) where tokens[position].word == "let" && tokens[position + 1].name == name {
      guard tokens[position + 2].isMark("="), tokens[position + 3].word == "#selector" else { continue }
      var cursor = TokenCursor(tokens)
      cursor.position = position + 4
      cursor.skipBracketed()
      return position + 3..<cursor.position
    }
    return range
  }

  /// Compiles `let saved = #selector(saved(_:))` only with Objective-C. Its observers get a closure.
  ///
  /// - Returns: Whether the declaration matches and an observer uses the constant.
  mutating func guardSelectorConstant(_ token: SourceToken, _ cursor: TokenCursor) -> Bool {
    let tokens = cursor.tokens
    guard cursor.position > 2, tokens[cursor.position - 1].isMark("="), tokens[cursor.position - 3].word == "let",
      let name = tokens[cursor.position - 2].name
    else { return false }
    let uses = tokens.indices.dropLast(2).filter {
      tokens[$0].word == "selector" && tokens[$0 + 1].isMark(":") && tokens[$0 + 2].name == name
    }
    guard !uses.isEmpty else { return false }
    var first = cursor.position - 3
    while first > 0, !tokens[first].beginsLine { first -= 1 }
    var following = cursor
    following.position += 1
    guard following.isAt("(") else { return false }
    following.skipBracketed()
    let whole = tokens[first].range.lowerBound..<tokens[following.position - 1].range.upperBound
    guard following.token?.beginsLine ?? true else { return false }
    let lines = ["#if canImport(ObjectiveC)", text(of: whole, applying: []), "#endif"]
    edits.append((whole, lines.joined(separator: "\n" + indentation(of: tokens[first]))))
    return true
  }

  /// Returns the method that `#selector(…)`, `Selector("…")`, or `NSSelectorFromString("…")` names.
  private func method(_ tokens: [SourceToken], _ range: Range<Int>) -> String? {
    guard let word = tokens[range].first?.word else { return nil }
    if ["Selector", "NSSelectorFromString"].contains(word), let literal = tokens[range].first(where: { $0.kind == .literal }) {
      let name = text(of: literal.range, applying: []).filter { $0 != "\"" }.prefix { $0 != ":" }
      return name.isEmpty ? nil : String(name)
    }
    guard word == "#selector" else { return nil }
    // The last name of the path, without argument labels.
    var (name, cursor): (String?, TokenCursor) = (nil, TokenCursor(tokens))
    cursor.position = range.lowerBound + 2
    while cursor.position < range.upperBound, let token = cursor.token, !token.isMark(")") {
      if token.isMark("(") {
        cursor.skipBracketed()
      } else {
        if let found = token.name { name = found }
        cursor.position += 1
      }
    }
    return name
  }
}
