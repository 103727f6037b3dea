// SourcePort: what has to change in a source that was written for Core Data before it compiles on Linux.

/// What has to change in a source before it compiles on Linux: it goes on compiling on Apple's systems, where it means the same.
///
/// Changed are imports of Apple's modules and attributes of Objective-C (they get `#if canImport(…)`), `#keyPath` (a text), `#selector` of a sort descriptor (its name), and classes that override
/// `init(entity:insertInto:)` (they get the initializer of stored objects), observers by selectors (they get a closure), and sources that leave the import to others. What cannot be changed by rules is remarked on.
package struct SourcePort {
  /// Something that has to be changed by hand.
  package struct Remark: Equatable, Sendable {
    package var line: Int
    package var text: String

    package init(line: Int, text: String) { (self.line, self.text) = (line, text) }
  }

  private let bytes: [UInt8]
  var edits: [(range: Range<Int>, text: String)] = []
  /// The places of tokens that a rule before has seen to.
  var handled: Set<Int> = []
  package private(set) var remarks: [Remark] = []

  /// Looks through a source.
  package init(_ source: String) {
    bytes = Array(source.utf8)
    var cursor = TokenCursor(SourceLexer.tokens(of: source))
    var conditions = ConditionStack()
    let build = BuildConditions(modules: [])
    while let token = cursor.token {
      if case .directive(let name, let condition) = token.kind { conditions.note(name, condition) }
      // What is not built on Linux may be as it is.
      if build.mayHold(conditions.current) { look(at: token, cursor) }
      cursor.position += 1
    }
    completeImports(cursor.tokens)
  }

  /// Whether anything is changed.
  package var isChanged: Bool { !edits.isEmpty }

  /// The source as it is to be.
  package var result: String { text(of: 0..<bytes.count, applying: edits) }

  // MARK: Rules

  private mutating func look(at token: SourceToken, _ cursor: TokenCursor) {
    if token.isMark("@"), let name = cursor.token(after: 1)?.word { return lookAtAttribute(name, token, cursor) }
    if handled.contains(cursor.position) { return }
    switch token.word {
    case "addObserver": _ = replaceObserver(cursor)
    case "#keyPath": replaceKeyPath(token, cursor)
    case "#selector": if !guardSelectorConstant(token, cursor) { replaceSelector(token, cursor) }
    case "import": guardImport(token, cursor)
    case "optional" where ["func", "var"].contains(cursor.token(after: 1)?.word) && !cursor.follows("."):
      remark(token, "optional requirements need Objective-C: give the requirement a default implementation in an extension")
    case "init": completeInitializer(token, cursor)
    default: break
    }
  }

  mutating func remark(_ token: SourceToken, _ text: String) { remarks.append(Remark(line: token.line, text: text)) }

  /// `@objc(Book)` stands where Objective-C is.
  private mutating func lookAtAttribute(_ name: String, _ token: SourceToken, _ cursor: TokenCursor) {
    guard ["objc", "objcMembers", "IBOutlet", "IBAction", "IBInspectable", "IBDesignable", "GKInspectable"].contains(name) else { return }
    var behind = cursor
    behind.position += 1
    _ = behind.takeAttribute()
    let end = behind.tokens[behind.position - 1].range.upperBound
    let indentation = indentation(of: token)
    let attribute = text(of: token.range.lowerBound..<end, applying: [])
    // What else stands in the line goes on in a line of its own.
    let next = behind.token
    let isLast = next?.beginsLine ?? true
    let rest = isLast ? "" : "\n" + indentation
    let until = isLast ? end : next?.range.lowerBound ?? end
    let start = token.beginsLine ? "" : "\n" + indentation
    var first = token.range.lowerBound
    while !token.beginsLine, first > 0, bytes[first - 1] == UInt8(ascii: " ") { first -= 1 }
    edits.append((first..<until, "\(start)#if canImport(ObjectiveC)\n\(indentation)\(attribute)\n\(indentation)#endif\(rest)"))
  }

  /// `#keyPath(Book.author.name)` is the text `"author.name"`.
  private mutating func replaceKeyPath(_ token: SourceToken, _ cursor: TokenCursor) {
    var behind = cursor
    behind.position += 1
    guard behind.isAt("(") else { return }
    let first = behind.position + 1
    behind.skipBracketed()
    let names = behind.tokens[first..<max(first, behind.position - 1)].compactMap(\.name)
    // Types come first, and begin with a capital.
    let keys = names.drop { $0.first?.isUppercase ?? false }
    guard !keys.isEmpty else { return remark(token, "#keyPath needs Objective-C: write the key as a text") }
    let end = behind.tokens[behind.position - 1].range.upperBound
    edits.append((token.range.lowerBound..<end, "\"\(keys.joined(separator: "."))\""))
  }

  /// `#selector(NSString.localizedStandardCompare(_:))` of a sort descriptor is `NSSelectorFromString("localizedStandardCompare:")`.
  private mutating func replaceSelector(_ token: SourceToken, _ cursor: TokenCursor) {
    var behind = cursor
    behind.position += 1
    if behind.isAt("(") {
      let first = behind.position
      behind.skipBracketed()
      let tokens = behind.tokens[first..<behind.position]
      if let method = tokens.lazy.compactMap(\.word).first(where: Self.comparisons.contains), let last = tokens.last {
        return edits.append((token.range.lowerBound..<last.range.upperBound, "NSSelectorFromString(\"\(method):\")"))
      }
    }
    remark(token, "#selector needs Objective-C: observe notifications with a closure (addObserver(forName:object:queue:using:))")
  }

  private static let comparisons: Set<String> = [
    "compare", "caseInsensitiveCompare", "localizedCompare", "localizedCaseInsensitiveCompare", "localizedStandardCompare",
  ]

  /// A class that overrides `init(entity:insertInto:)` inherits no other initializer; where a class is known by its metatype only, it is made by that.
  private mutating func completeInitializer(_ token: SourceToken, _ cursor: TokenCursor) {
    guard cursor.position > 0, cursor.token(after: 1)?.isMark("(") == true, cursor.token(after: 2)?.word == "entity" else { return }
    var first = cursor.position
    var modifiers: Set<String> = []
    while first > 0, let word = cursor.tokens[first - 1].word,
      ["override", "public", "open", "internal", "package", "required"].contains(word)
    {
      modifiers.insert(word)
      first -= 1
    }
    guard modifiers.contains("override") else { return }
    var behind = cursor
    behind.position += 1
    let parameters = behind.position
    behind.skipBracketed()
    guard behind.tokens[parameters..<behind.position].contains(where: { $0.word == "insertInto" }), behind.isAt("{") else { return }
    behind.skipBracketed()
    if !modifiers.contains("required") { edits.append((token.range.lowerBound..<token.range.lowerBound, "required ")) }
    guard !Self.hasSeedInitializer(behind.tokens, around: cursor.position) else { return }
    let end = behind.tokens[behind.position - 1].range.upperBound
    let indentation = indentation(of: cursor.tokens[first])
    let access = modifiers.intersection(["public", "open"]).isEmpty ? "" : "public "
    let lines = [
      "", "", "#if !canImport(ObjectiveC)", "  // Contexts make objects of stored rows by it.",
      "  \(access)required init(_ seed: ManagedObjectSeed) { super.init(seed) }", "#endif",
    ]
    edits.append((end..<end, lines.map { $0.isEmpty ? $0 : indentation + $0 }.joined(separator: "\n")))
  }

  /// Whether the class around a token has the initializer of stored objects.
  private static func hasSeedInitializer(_ tokens: [SourceToken], around position: Int) -> Bool {
    func reach(_ positions: some Sequence<Int>, leaving brace: Unicode.Scalar, entering other: Unicode.Scalar) -> Bool {
      var depth = 0
      for position in positions {
        if tokens[position].isMark(other) { depth += 1 }
        if tokens[position].isMark(brace) { depth -= 1 }
        if depth < 0 { return false }
        if tokens[position].word == "ManagedObjectSeed" { return true }
      }
      return false
    }
    return reach(position..<tokens.count, leaving: "}", entering: "{")
      || reach(stride(from: position, through: 0, by: -1), leaving: "{", entering: "}")
  }

  // MARK: Text

  /// The blanks that a token's line begins with.
  func indentation(of token: SourceToken) -> String {
    var start = token.range.lowerBound
    while start > 0, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
    return String(decoding: bytes[start...].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }, as: UTF8.self)
  }

  func text(of range: Range<Int>, applying edits: [(range: Range<Int>, text: String)]) -> String {
    var result: [UInt8] = []
    var position = range.lowerBound
    for edit in edits {
      result += bytes[position..<edit.range.lowerBound]
      result += edit.text.utf8
      position = edit.range.upperBound
    }
    return String(decoding: result + bytes[position..<range.upperBound], as: UTF8.self)
  }

  // MARK: The difference

  /// The difference as `diff -U0` prints it; empty where nothing is changed.
  ///
  /// - Parameter path: The file's path, as the difference is to name it.
  package func difference(path: String) -> String {
    if edits.isEmpty { return "" }
    var lines = ["--- \(path)", "+++ \(path)"]
    var shift = 0
    for group in groups {
      let range = wholeLines(around: group)
      let old = Self.lines(text(of: range, applying: []))
      let new = Self.lines(text(of: range, applying: group))
      let first = bytes[..<range.lowerBound].count { $0 == UInt8(ascii: "\n") } + 1
      lines.append("@@ -\(first),\(old.count) +\(first + shift),\(new.count) @@")
      lines += old.map { "-" + $0 } + new.map { "+" + $0 }
      shift += new.count - old.count
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The edits, those of one line together.
  private var groups: [[(range: Range<Int>, text: String)]] {
    edits.reduce(into: []) { groups, edit in
      if let last = groups.last, wholeLines(around: last).upperBound > edit.range.lowerBound {
        groups[groups.count - 1].append(edit)
      } else {
        groups.append([edit])
      }
    }
  }

  /// The lines that edits touch, with their ends.
  private func wholeLines(around edits: [(range: Range<Int>, text: String)]) -> Range<Int> {
    guard let first = edits.first, let last = edits.last else { return 0..<0 }
    let start = bytes[..<first.range.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let end = bytes[last.range.upperBound...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
    return start..<end
  }

  private static func lines(_ text: String) -> [Substring] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.last?.isEmpty == true ? lines.dropLast() : lines
  }
}
