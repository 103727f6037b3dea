// SourcePort: what has to change in a source that was written for Core Data before it compiles on Linux.

/// What has to change in a source before it compiles on Linux: it goes on compiling on Apple's systems, where it means the same.
///
/// Changed are imports of Apple's modules and attributes of Objective-C (they get `#if canImport(…)`), `#keyPath` (a text), `#selector` of a sort descriptor (its name), and classes that override
/// `init(entity:insertInto:)` (they get the initializer of stored objects), observers by selectors (they get a closure), casts of fetch requests (they get an `#else`), sources that leave the import to
/// others, patterns and casts that match on Apple's systems only (an error as an `NSError`, the set of a relationship as an `NSMutableSet`), classes with managed properties that a function declares (they go to the end of the source), and extensions of `NSObject` that managed objects use (they extend these too). What cannot be
/// changed by rules is remarked on.
package struct SourcePort {
  /// Something that has to be changed by hand.
  package struct Remark: Equatable, Sendable {
    package var line: Int
    package var text: String

    package init(line: Int, text: String) { (self.line, self.text) = (line, text) }
  }

  let bytes: [UInt8]
  /// What is known of the other sources.
  let folder: PortedFolder
  var edits: [(range: Range<Int>, text: String)] = []
  /// The places of tokens that a rule before has seen to.
  var handled: Set<Int> = []
  /// The places of classes that a function declares, and of extensions of `NSObject`: they are looked at when all of them is known.
  var localClasses: [Int] = []
  var extensions: [Int] = []
  /// The places of `@NSManaged`, where properties are to be left to the plugin.
  private var managed: [Int] = []
  /// Whether a rule has named classes of Core Data in a source that did not.
  var needsImport = false
  package var remarks: [Remark] = []

  /// Looks through a source.
  ///
  /// - Parameters:
  ///   - source: Its text.
  ///   - folder: What is known of it and the sources beside it; nil where there are none.
  ///   - leavesProperties: Whether managed properties are left to the plugin, which writes them so that numbers are read as fast as those of the library's own classes.
  package init(_ source: String, in folder: PortedFolder? = nil, leavesProperties: Bool = false) {
    bytes = Array(source.utf8)
    self.folder = folder ?? PortedFolder([source])
    var cursor = TokenCursor(SourceLexer.tokens(of: source))
    var conditions = ConditionStack()
    let build = BuildConditions(modules: [])
    while let token = cursor.token {
      if case .directive(let name, let condition) = token.kind { conditions.note(name, condition) }
      // What is not built on Linux may be as it is.
      if build.mayHold(conditions.current) {
        if leavesProperties, token.isMark("@"), cursor.token(after: 1)?.word == "NSManaged",
          !conditions.current.contains(where: { $0.contains(AccessorSource.switchName) })
        {
          managed.append(cursor.position)
        }
        look(at: token, cursor)
      }
      cursor.position += 1
    }
    leaveProperties(managed, cursor.tokens)
    completeExtensions(cursor.tokens)
    moveLocalClasses(cursor.tokens)
    completeImports(cursor.tokens)
    edits.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    // Only in a source that does not compile two rules see to the same place.
    edits = edits.reduce(into: []) { kept, edit in
      if edit.range.lowerBound >= kept.last?.range.upperBound ?? 0 { kept.append(edit) }
    }
  }

  /// Whether anything is changed.
  package var isChanged: Bool { !edits.isEmpty }

  /// The source as it is to be.
  package var result: String { text(of: 0..<bytes.count, applying: edits) }

  // MARK: Rules

  mutating func look(at token: SourceToken, _ cursor: TokenCursor) {
    if handled.contains(cursor.position) { return }
    if token.isMark("@"), let name = cursor.token(after: 1)?.word { return lookAtAttribute(name, token, cursor) }
    if token.kind == .literal { return lookInText(token) }
    switch token.word {
    case "as": if !replaceFailingCast(cursor) { replaceCast(token, cursor) }
    case "catch": replaceCatch(token, cursor)
    case "case": lookAtCase(token, cursor)
    case "Foundation", "CoreData": unqualify(token, cursor)
    case "class":
      lookAtClass(token, cursor)
      declareTokens(cursor)
    case "extension" where cursor.token(after: 1)?.word == "NSObject" && cursor.token(after: 2)?.isMark("{") == true:
      extensions.append(cursor.position)
    case "NSKeyValueObservation", "observeValue":
      remark(token, "there is no key-value observing on Linux: observe NSManagedObjectContextObjectsDidChange")
    case "addObserver": _ = replaceObserver(cursor)
    case "removeObserver": replaceRemoval(cursor)
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
    guard Self.attributes.contains(name) else { return }
    var behind = cursor
    behind.position += 1
    _ = behind.takeAttribute()
    // Those beside it stand with it.
    while let next = behind.token, !next.beginsLine, next.isMark("@"), Self.attributes.contains(behind.token(after: 1)?.word ?? "") {
      handled.insert(behind.position)
      behind.position += 1
      _ = behind.takeAttribute()
    }
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

  private static let attributes: Set<String> = [
    "objc", "objcMembers", "IBOutlet", "IBAction", "IBInspectable", "IBDesignable", "GKInspectable",
  ]

  /// `#keyPath(Book.author.name)` is the text `"author.name"`.
  private mutating func replaceKeyPath(_ token: SourceToken, _ cursor: TokenCursor) {
    var behind = cursor
    guard let key = Self.key(&behind) else {
      if behind.position > cursor.position { remark(token, "#keyPath needs Objective-C: write the key as a text") }
      return
    }
    edits.append((token.range.lowerBound..<behind.tokens[behind.position - 1].range.upperBound, "\"\(key)\""))
  }

  /// The key that `#keyPath(…)` names, which is gone past; nil where there is none.
  private static func key(_ cursor: inout TokenCursor) -> String? {
    cursor.position += 1
    guard cursor.isAt("(") else {
      cursor.position -= 1
      return nil
    }
    let first = cursor.position + 1
    cursor.skipBracketed()
    let names = cursor.tokens[first..<max(first, cursor.position - 1)].compactMap(\.name)
    // Types come first, and begin with a capital.
    let keys = names.drop { $0.first?.isUppercase ?? false }
    return keys.isEmpty ? nil : keys.joined(separator: ".")
  }

  /// `"\(#keyPath(Book.title)) == %@"` is `"title == %@"`.
  private mutating func lookInText(_ token: SourceToken) {
    let hashes = bytes[token.range].prefix { $0 == UInt8(ascii: "#") }.count
    let begin = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: hashes) + [UInt8(ascii: "(")]
    var place = token.range.lowerBound + hashes
    while place + begin.count < token.range.upperBound {
      guard bytes[place..<place + begin.count].elementsEqual(begin) else {
        // What a backslash stands before is no begin.
        place += bytes[place] == begin[0] ? 2 : 1
        continue
      }
      let start = place + begin.count - 1
      var cursor = TokenCursor(SourceLexer.tokens(of: String(decoding: bytes[start..<token.range.upperBound], as: UTF8.self)))
      cursor.skipBracketed()
      let end = cursor.position
      cursor.position = 1
      while cursor.position < end, let inner = cursor.token {
        let first = cursor.position
        guard inner.word == "#keyPath", let key = Self.key(&cursor) else {
          cursor.position = first + 1
          continue
        }
        let isWhole = first == 1 && cursor.position == end - 1
        let last = cursor.tokens[cursor.position - 1].range.upperBound
        edits.append(
          isWhole
            ? (place..<start + cursor.tokens[end - 1].range.upperBound, key) : (start + inner.range.lowerBound..<start + last, "\"\(key)\"")
        )
      }
      place = start + max(1, cursor.tokens[..<min(end, cursor.tokens.count)].last?.range.upperBound ?? 1)
    }
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

  // MARK: Text

  /// The blanks that a token's line begins with.
  func indentation(of token: SourceToken) -> String {
    var start = token.range.lowerBound
    while start > 0, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
    return String(decoding: bytes[start...].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }, as: UTF8.self)
  }

  /// The source's text with some of the edits.
  func text(of range: Range<Int>, applying edits: [(range: Range<Int>, text: String)]) -> String {
    var result: [UInt8] = []
    var position = range.lowerBound
    for edit in edits where edit.range.lowerBound >= position && edit.range.upperBound <= range.upperBound {
      result += bytes[position..<edit.range.lowerBound]
      result += edit.text.utf8
      position = edit.range.upperBound
    }
    return String(decoding: result + bytes[position..<range.upperBound], as: UTF8.self)
  }

  /// The lines of a range, with their ends.
  func wholeLines(of range: Range<Int>) -> Range<Int> {
    let start = bytes[..<range.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let end = bytes[range.upperBound...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
    return start..<end
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
      var old = Self.lines(text(of: range, applying: []))[...]
      var new = Self.lines(text(of: range, applying: group))[...]
      var first = bytes[..<range.lowerBound].count { $0 == UInt8(ascii: "\n") } + 1
      while let line = old.first, line == new.first {
        (old, new) = (old.dropFirst(), new.dropFirst())
        first += 1
      }
      while let line = old.last, line == new.last { (old, new) = (old.dropLast(), new.dropLast()) }
      // Where no line is replaced or put in, it is the line before.
      lines.append("@@ -\(first - (old.isEmpty ? 1 : 0)),\(old.count) +\(first + shift - (new.isEmpty ? 1 : 0)),\(new.count) @@")
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
    return wholeLines(of: first.range.lowerBound..<last.range.upperBound)
  }

  private static func lines(_ text: String) -> [Substring] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.last?.isEmpty == true ? lines.dropLast() : lines
  }
}
