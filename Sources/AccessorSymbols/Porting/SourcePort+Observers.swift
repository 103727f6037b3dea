// SourcePort+Observers: observers of notifications by selectors as closures, and imports.

extension SourcePort {
  /// `center.addObserver(self, selector: #selector(saved(_:)), name: …, object: …)` gets an `#else` with a closure, where the method stands in the same file.
  ///
  /// - Returns: Whether it did.
  mutating func replaceObserver(_ cursor: TokenCursor) -> Bool {
    var behind = cursor
    behind.position += 1
    guard behind.isAt("("), let start = Self.receiver(of: cursor) else { return false }
    let first = behind.position + 1
    behind.skipBracketed()
    let arguments = Self.arguments(behind.tokens, first..<max(first, behind.position - 1))
    guard arguments.count == 4, arguments.map(\.label) == [nil, "selector", "name", "object"],
      behind.tokens[arguments[0].range].map(\.word) == ["self"],
      let method = Self.method(behind.tokens, Self.selector(behind.tokens, arguments[1].range)),
      let call = Self.call(of: method, behind.tokens)
    else { return false }
    let tokens = behind.tokens
    let whole = tokens[start].range.lowerBound..<tokens[behind.position - 1].range.upperBound
    func text(_ range: Range<Int>) -> String {
      self.text(of: tokens[range.lowerBound].range.lowerBound..<tokens[range.upperBound - 1].range.upperBound, applying: [])
    }
    let center = self.text(of: whole.lowerBound..<tokens[cursor.position].range.lowerBound, applying: [])
    let indentation = indentation(of: tokens[start])
    let parameter = call.hasSuffix("()") ? "_" : "notification"
    let lines = [
      "#if canImport(ObjectiveC)", self.text(of: whole, applying: []), "#else",
      "_ = \(center)addObserver(forName: \(text(arguments[2].range)), object: \(text(arguments[3].range)), queue: nil) { [weak self] \(parameter) in",
      "  self?.\(call)", "}", "#endif",
    ]
    edits.append((whole, lines.joined(separator: "\n" + indentation)))
    // The selector stands where Objective-C is.
    if let selector = arguments[1].range.first(where: { tokens[$0].word == "#selector" }) { handled.insert(selector) }
    return true
  }

  /// Where the receiver of a call begins; nil where something else stands before it in its line.
  private static func receiver(of cursor: TokenCursor) -> Int? {
    var position = cursor.position
    while position > 0,
      cursor.tokens[position].touchesFormer || cursor.tokens[position].isMark(".") || cursor.tokens[position - 1].isMark(".")
    {
      if cursor.tokens[position].beginsLine, !cursor.tokens[position].isMark(".") { break }
      position -= 1
      guard cursor.tokens[position].name != nil || cursor.tokens[position].isMark(".") else { return nil }
    }
    return cursor.tokens[position].beginsLine && position < cursor.position ? position : nil
  }

  /// The arguments between brackets.
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

  /// Where a selector is written: in its place, or where a constant of the file is set to it.
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

  /// `let saved = #selector(saved(_:))` stands where Objective-C is: its observers get a closure.
  ///
  /// - Returns: Whether it does, and some observer is one of the constant.
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
    var behind = cursor
    behind.position += 1
    guard behind.isAt("(") else { return false }
    behind.skipBracketed()
    let whole = tokens[first].range.lowerBound..<tokens[behind.position - 1].range.upperBound
    guard behind.token?.beginsLine ?? true else { return false }
    let lines = ["#if canImport(ObjectiveC)", text(of: whole, applying: []), "#endif"]
    edits.append((whole, lines.joined(separator: "\n" + indentation(of: tokens[first]))))
    return true
  }

  /// `import UIKit` stands where UIKit is.
  mutating func guardImport(_ token: SourceToken, _ cursor: TokenCursor) {
    guard let module = cursor.token(after: 1)?.word, BuildConditions.appleModules.contains(module) else { return }
    remark(token, "import \(module): the module is not there on Linux; put what needs it behind #if canImport(\(module))")
    var (first, last) = (cursor.position, cursor.position + 1)
    while first > 0, !cursor.tokens[first].beginsLine { first -= 1 }
    while last + 1 < cursor.tokens.count, !cursor.tokens[last + 1].beginsLine { last += 1 }
    let whole = cursor.tokens[first].range.lowerBound..<cursor.tokens[last].range.upperBound
    let lines = ["#if canImport(\(module))", text(of: whole, applying: []), "#endif"]
    edits.append((whole, lines.joined(separator: "\n" + indentation(of: cursor.tokens[first]))))
  }

  /// The method that `#selector(…)` names.
  private static func method(_ tokens: [SourceToken], _ range: Range<Int>) -> String? {
    guard tokens[range].first?.word == "#selector" else { return nil }
    // The last name of the path, without its labels.
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

  /// How a method of the file is called with a notification.
  private static func call(of method: String, _ tokens: [SourceToken]) -> String? {
    guard tokens.count > 4 else { return nil }
    for position in 0..<tokens.count - 4 where tokens[position].word == "func" && tokens[position + 1].name == method {
      guard tokens[position + 2].isMark("(") else { continue }
      if tokens[position + 3].isMark(")") { return "\(method)()" }
      guard let label = tokens[position + 3].name else { return nil }
      // `_ note: NSNotification` and `note: NSNotification`.
      let parameter = tokens[position + 3..<tokens.count].prefix { !$0.isMark(")") }
      let argument = parameter.contains { $0.word == "NSNotification" } ? "notification as NSNotification" : "notification"
      return label == "_" ? "\(method)(\(argument))" : "\(method)(\(label): \(argument))"
    }
    return nil
  }

  /// A source that names classes of Core Data without importing it: on Apple's systems another file's import is enough.
  mutating func completeImports(_ tokens: [SourceToken]) {
    var (first, imports): (SourceToken?, Bool) = (nil, false)
    for (position, token) in tokens.enumerated() where token.word == "import" && position + 1 < tokens.count {
      if first == nil { first = token }
      if tokens[position + 1].word == "CoreData" || tokens[position + 1].word == "CipherData" { imports = true }
    }
    guard !imports, let first, first.beginsLine, needsImport || tokens.contains(where: { $0.word.map(Self.isOfCoreData) ?? false }) else {
      return
    }
    edits.insert((first.range.lowerBound..<first.range.lowerBound, "import CoreData\n"), at: 0)
  }

  private static func isOfCoreData(_ word: String) -> Bool {
    ["NSManagedObject", "NSPersistent", "NSFetchRequest", "NSFetchedResults", "NSEntityDescription", "NSBatch", "NSMergePolicy"].contains {
      word.hasPrefix($0)
    }
  }
}
