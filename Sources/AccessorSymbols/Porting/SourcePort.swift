/// The changes that make a source written for Core Data compile on Linux. The source continues to compile on Apple's systems with the same
/// meaning.
///
/// The changes concern:
///
/// - Imports of Apple's modules and attributes of Objective-C: they get `#if canImport(…)`.
/// - `#keyPath`: it becomes a string literal.
/// - `#selector` of a sort descriptor: it becomes the selector's name.
/// - Classes that override `init(entity:insertInto:)`: they get the initializer for stored objects.
/// - Observers by selectors: they get a closure.
/// - Casts of fetch requests: they get an `#else`.
/// - Sources that rely on another file's import: they get an import.
/// - Patterns and casts that match on Apple's systems only: an error as an `NSError`, the set of a relationship as an `NSMutableSet`.
/// - Classes with `@NSManaged` properties in functions: they move to the end of the source.
/// - Extensions of `NSObject` that managed objects use: they are repeated for `NSManagedObject`.
///
/// Other problems are reported as remarks.
package struct SourcePort {
  /// A problem that must be fixed manually.
  package struct Remark: Equatable, Sendable {
    package var line: Int
    package var text: String

    package init(line: Int, text: String) { (self.line, self.text) = (line, text) }
  }

  let bytes: [UInt8]
  /// Information about the other sources.
  let folder: PortedFolder
  var edits: [(range: Range<Int>, text: String)] = []
  /// The positions of tokens that an earlier rule has processed.
  var handled: Set<Int> = []
  /// The positions of classes in functions and of extensions of `NSObject`, which are processed after the scan.
  var localClasses: [Int] = []
  var extensions: [Int] = []
  /// The positions of `@NSManaged`, if the plugin is to generate properties.
  private var managed: [Int] = []
  /// Whether a rule has added names of Core Data's classes to a source without them.
  var needsImport = false
  package var remarks: [Remark] = []

  /// Examines a source.
  ///
  /// - Parameters:
  ///   - source: The text of the source.
  ///   - folder: Information about all sources in the folder; `nil` if there are no others.
  ///   - leavesProperties: Whether the plugin generates `@NSManaged` properties, so that reading numbers is as fast as for the library's
  ///     own classes.
  package init(_ source: String, in folder: PortedFolder? = nil, leavesProperties: Bool = false) {
    bytes = Array(source.utf8)
    self.folder = folder ?? PortedFolder([source])
    var cursor = TokenCursor(SourceLexer.tokens(of: source))
    var conditions = ConditionStack()
    let build = BuildConditions(modules: [])
    while let token = cursor.token {
      if case .directive(let name, let condition) = token.kind { conditions.note(name, condition) }
      // Code that is not compiled on Linux is not changed.
      if build.mayHold(conditions.current) {
        if leavesProperties, token.isMark("@"), cursor.token(after: 1)?.word == "NSManaged",
          !conditions.current.contains(where: { $0.contains(AccessorSource.switchName) })
        {
          managed.append(cursor.position)
        }
        visit(at: token, cursor)
      }
      cursor.position += 1
    }
    leaveProperties(managed, cursor.tokens)
    completeExtensions(cursor.tokens)
    moveLocalClasses(cursor.tokens)
    completeImports(cursor.tokens)
    edits.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    // Two rules can change the same position only in a source that does not compile.
    edits = edits.reduce(into: []) { kept, edit in
      if edit.range.lowerBound >= kept.last?.range.upperBound ?? 0 { kept.append(edit) }
    }
  }

  package var isChanged: Bool { !edits.isEmpty }

  /// The changed source.
  package var result: String { text(of: 0..<bytes.count, applying: edits) }

  // MARK: Rules

  mutating func visit(at token: SourceToken, _ cursor: TokenCursor) {
    if handled.contains(cursor.position) { return }
    if token.isMark("@"), let name = cursor.token(after: 1)?.word { return visitAttribute(name, token, cursor) }
    if token.kind == .literal { return visitText(token) }
    switch token.word {
    case "as": if !replaceFailingCast(cursor) { replaceCast(token, cursor) }
    case "catch": replaceCatch(token, cursor)
    case "case": visitCase(token, cursor)
    case "Foundation", "CoreData": unqualify(token, cursor)
    case "class":
      visitClass(token, cursor)
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

  /// Compiles attributes such as `@objc(Book)` only with Objective-C.
  private mutating func visitAttribute(_ name: String, _ token: SourceToken, _ cursor: TokenCursor) {
    guard Self.attributes.contains(name) else { return }
    var following = cursor
    following.position += 1
    _ = following.takeAttribute()
    // Adjacent attributes are included.
    while let next = following.token, !next.beginsLine, next.isMark("@"), Self.attributes.contains(following.token(after: 1)?.word ?? "") {
      handled.insert(following.position)
      following.position += 1
      _ = following.takeAttribute()
    }
    let end = following.tokens[following.position - 1].range.upperBound
    let indentation = indentation(of: token)
    let attribute = text(of: token.range.lowerBound..<end, applying: [])
    // The rest of the line moves to a new line.
    let next = following.token
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

  /// Replaces `#keyPath(Book.author.name)` by the literal `"author.name"`.
  private mutating func replaceKeyPath(_ token: SourceToken, _ cursor: TokenCursor) {
    var following = cursor
    guard let key = Self.key(&following) else {
      if following.position > cursor.position { remark(token, "#keyPath needs Objective-C: write the key as a text") }
      return
    }
    edits.append((token.range.lowerBound..<following.tokens[following.position - 1].range.upperBound, "\"\(key)\""))
  }

  /// Returns the key of a `#keyPath(…)` and advances past it; `nil` if there is none.
  private static func key(_ cursor: inout TokenCursor) -> String? {
    cursor.position += 1
    guard cursor.isAt("(") else {
      cursor.position -= 1
      return nil
    }
    let first = cursor.position + 1
    cursor.skipBracketed()
    let names = cursor.tokens[first..<max(first, cursor.position - 1)].compactMap(\.name)
    // Type names come first and begin with an uppercase letter.
    let keys = names.drop { $0.first?.isUppercase ?? false }
    return keys.isEmpty ? nil : keys.joined(separator: ".")
  }

  /// Replaces `"\(#keyPath(Book.title)) == %@"` by `"title == %@"`.
  private mutating func visitText(_ token: SourceToken) {
    let hashes = bytes[token.range].prefix { $0 == UInt8(ascii: "#") }.count
    let begin = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: hashes) + [UInt8(ascii: "(")]
    var place = token.range.lowerBound + hashes
    while place + begin.count < token.range.upperBound {
      guard bytes[place..<place + begin.count].elementsEqual(begin) else {
        // An escaped character does not begin an interpolation.
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

  /// Replaces `#selector(NSString.localizedStandardCompare(_:))` of a sort descriptor by
  /// `NSSelectorFromString("localizedStandardCompare:")`.
  private mutating func replaceSelector(_ token: SourceToken, _ cursor: TokenCursor) {
    var following = cursor
    following.position += 1
    if following.isAt("(") {
      let first = following.position
      following.skipBracketed()
      let tokens = following.tokens[first..<following.position]
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

  /// Returns the white space at the beginning of a token's line.
  func indentation(of token: SourceToken) -> String {
    var start = token.range.lowerBound
    while start > 0, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
    return String(decoding: bytes[start...].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }, as: UTF8.self)
  }

  /// Returns a range of the source with some of the edits applied.
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

  /// Returns the lines of a range, including terminators.
  func wholeLines(of range: Range<Int>) -> Range<Int> {
    let start = bytes[..<range.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let end = bytes[range.upperBound...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
    return start..<end
  }

  // MARK: The difference

  /// Returns the changes in the format of `diff -U0`; empty if there are none.
  ///
  /// - Parameter path: The path of the file in the output.
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
      // For an insertion or deletion, the number is that of the preceding line.
      lines.append("@@ -\(first - (old.isEmpty ? 1 : 0)),\(old.count) +\(first + shift - (new.isEmpty ? 1 : 0)),\(new.count) @@")
      lines += old.map { "-" + $0 } + new.map { "+" + $0 }
      shift += new.count - old.count
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The edits, grouped by lines.
  private var groups: [[(range: Range<Int>, text: String)]] {
    edits.reduce(into: []) { groups, edit in
      if let last = groups.last, wholeLines(around: last).upperBound > edit.range.lowerBound {
        groups[groups.count - 1].append(edit)
      } else {
        groups.append([edit])
      }
    }
  }

  /// Returns the lines that edits affect, including terminators.
  private func wholeLines(around edits: [(range: Range<Int>, text: String)]) -> Range<Int> {
    guard let first = edits.first, let last = edits.last else { return 0..<0 }
    return wholeLines(of: first.range.lowerBound..<last.range.upperBound)
  }

  private static func lines(_ text: String) -> [Substring] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.last?.isEmpty == true ? lines.dropLast() : lines
  }
}

// MARK: - Rewriting imports

extension SourcePort {
  /// The replacement of an Apple module on Linux.
  private struct Substitute {
    var module: String
    /// The required dependency of the target.
    var advice: String
  }

  private static let substitutes: [String: Substitute] = {
    let logging = Substitute(
      module: "UnifiedLogging", advice: "the product UnifiedLogging of CipherData has Logger, OSLog and os_log: add it to the target")
    let combine = Substitute(
      module: "OpenCombine",
      advice:
        "the package OpenCombine has most of it: add its products OpenCombine, OpenCombineFoundation and OpenCombineDispatch to the target")
    return ["os": logging, "OSLog": logging, "Combine": combine]
  }()

  /// Wraps imports such as `import UIKit` in `#if canImport(…)`. If a target has a substitute for a module, it is imported instead.
  mutating func guardImport(_ token: SourceToken, _ cursor: TokenCursor) {
    let isOfOne = cursor.token(after: 1)?.word.map(Self.kindsOfImports.contains) ?? false
    guard let module = cursor.token(after: isOfOne ? 2 : 1)?.word, BuildConditions.appleModules.contains(module) else { return }
    let substitute = Self.substitutes[module]
    let advice = substitute.map { "\($0.advice), or put" } ?? "put"
    remark(token, "import \(module): the module is not there on Linux; \(advice) what needs it behind #if canImport(\(module))")
    var (first, last) = (cursor.position, cursor.position + 1)
    while first > 0, !cursor.tokens[first].beginsLine { first -= 1 }
    while last + 1 < cursor.tokens.count, !cursor.tokens[last + 1].beginsLine { last += 1 }
    let whole = cursor.tokens[first].range.lowerBound..<cursor.tokens[last].range.upperBound
    var lines = ["#if canImport(\(module))", text(of: whole, applying: [])]
    if let substitute {
      // Attributes of the import belong to the module.
      let modifiers = cursor.tokens[first..<cursor.position].compactMap(\.word).filter(Self.modifiersOfImports.contains)
        .map { $0 == "_exported" ? "@_exported " : $0 + " " }.joined()
      lines += ["#elseif canImport(\(substitute.module))", "\(modifiers)import \(substitute.module)"]
      if module == "Combine" {
        for part in Self.partsOfCombine(cursor.tokens) { lines += ["#if canImport(\(part))", "\(modifiers)import \(part)", "#endif"] }
      }
    }
    lines.append("#endif")
    edits.append((whole, lines.joined(separator: "\n" + indentation(of: cursor.tokens[first]))))
  }

  private static let kindsOfImports: Set<String> = ["typealias", "struct", "class", "enum", "protocol", "let", "var", "func"]
  private static let modifiersOfImports: Set<String> = ["public", "package", "internal", "fileprivate", "private", "_exported"]

  /// Returns the modules of OpenCombine whose publishers and schedulers a source uses: it has separate modules for those of Foundation and
  /// Dispatch.
  private static func partsOfCombine(_ tokens: [SourceToken]) -> [String] {
    var parts: Set<String> = []
    for (position, token) in tokens.enumerated() {
      guard let word = token.word else { continue }
      if word == "DispatchQueue" { parts.insert("OpenCombineDispatch") }
      if wordsOfFoundation.contains(word) { parts.insert("OpenCombineFoundation") }
      // `center.publisher(for: …)`, but not the publisher of a sequence.
      if word == "publisher", position + 2 < tokens.count, tokens[position + 1].isMark("("), tokens[position + 2].word == "for" {
        parts.insert("OpenCombineFoundation")
      }
    }
    return parts.sorted(by: >)
  }

  private static let wordsOfFoundation: Set<String> = [
    "dataTaskPublisher", "JSONDecoder", "JSONEncoder", "PropertyListDecoder", "PropertyListEncoder", "RunLoop", "OperationQueue", "Timer",
  ]

  /// Adds an import to a source that uses classes of Core Data without importing it: on Apple's systems, an import in another file is
  /// enough.
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
