/// Finds the public declarations in blanked source code (see `SwiftText`), each as `Path.to.Type: declaration` on one line, without its
/// body. It reads the text, so it needs no build and does not depend on the compiler's version.
struct PublicDeclarations {
  private struct Container {
    var path: String
    /// Whether members without a modifier are public: in public protocols and public extensions, and cases of public enumerations.
    var membersArePublic = false
    var casesArePublic = false
    /// Whether the type or extension is for generated code only.
    var isForGeneratedCode = false
  }

  private let code: [Character]
  private var index = 0
  private var containers = [Container(path: "")]
  /// The declarations that applications see.
  private(set) var lines: [String] = []
  /// The declarations with `@_spi(Generated)`, which only generated code and the library's modules see.
  private(set) var linesForGeneratedCode: [String] = []

  init(_ text: SwiftText) {
    code = Array(text.code.joined(separator: "\n"))
    run()
  }

  static func of(_ text: SwiftText) -> [String] { PublicDeclarations(text).lines }

  private mutating func run() {
    while let statement = nextStatement() {
      let words = statement.split(whereSeparator: \.isWhitespace)
      if statement == "}" {
        if containers.count > 1 { containers.removeLast() }
        continue
      }
      let endsInBrace = index < code.count && code[index] == "{"
      if let kind = words.first(where: Self.typeKeywords.contains), endsInBrace, isTypeHeader(words, kind) {
        enter(statement, words, kind)
        continue
      }
      let accessors = endsInBrace ? skipBody(isRequirement: containers[containers.count - 1].membersArePublic) : nil
      record(statement, words, accessors: accessors)
    }
  }

  // MARK: Containers

  private static let typeKeywords: Set<Substring> = ["class", "struct", "enum", "protocol", "extension", "actor"]

  /// `class func` and `class var` are members.
  private func isTypeHeader(_ words: [Substring], _ kind: Substring) -> Bool {
    guard let place = words.firstIndex(of: kind), place + 1 < words.count else { return false }
    return words[..<place].allSatisfy { Self.modifiers.contains($0) || $0.hasPrefix("@") || $0.hasSuffix(")") }
      && !["func", "var", "let", "subscript", "override", "final", "init"].contains(words[place + 1])
  }

  private mutating func enter(_ statement: String, _ words: [Substring], _ kind: Substring) {
    index += 1
    let place = words.firstIndex(of: kind) ?? 0
    let name = String(words[place + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." })
    let outer = containers[containers.count - 1]
    let isPublic = isPublic(words, in: outer)
    var container = Container(path: outer.path.isEmpty ? name : outer.path + "." + name)
    container.isForGeneratedCode = isForGeneratedCode(words, in: outer)
    if kind == "extension" {
      container.membersArePublic = isPublic
      // A conformance is public if its type is. The list contains it in any case.
      if statement.contains(":") { add("\(container.path): \(collapsed(statement))", container.isForGeneratedCode) }
    } else if isPublic {
      add("\(container.path): \(collapsed(statement))", container.isForGeneratedCode)
      container.membersArePublic = kind == "protocol"
      container.casesArePublic = kind == "enum"
    }
    containers.append(container)
  }

  // MARK: Declarations

  private static let modifiers: Set<Substring> = [
    "public", "open", "package", "internal", "fileprivate", "private", "final", "indirect", "nonisolated", "static", "mutating", "override",
    "convenience", "required", "lazy", "weak", "unowned", "sending", "consuming", "borrowing", "isolated", "distributed",
  ]

  private func isPublic(_ words: [Substring], in container: Container) -> Bool {
    if words.contains(where: { $0 == "public" || $0 == "open" }) { return true }
    if words.contains(where: { ["package", "internal", "fileprivate", "private"].contains($0) }) { return false }
    return container.membersArePublic
  }

  private func isForGeneratedCode(_ words: [Substring], in container: Container) -> Bool {
    container.isForGeneratedCode || words.contains("@_spi(Generated)")
  }

  private mutating func add(_ line: String, _ isForGeneratedCode: Bool) {
    if isForGeneratedCode {
      linesForGeneratedCode.append(line.replacing("@_spi(Generated) ", with: ""))
    } else {
      lines.append(line)
    }
  }

  private mutating func record(_ statement: String, _ words: [Substring], accessors: String?) {
    let container = containers[containers.count - 1]
    let isCase = words.first { !$0.hasPrefix("@") && $0 != "indirect" } == "case"
    guard isCase ? container.casesArePublic : isPublic(words, in: container) else { return }
    if words.contains("import") { return }
    var text = collapsed(statement, keepsValues: isCase)
    let hasValue = text != collapsed(statement, keepsValues: true)
    if !text.contains("func "), !isCase, !hasValue, let accessors, words.contains(where: { ["var", "subscript"].contains($0) }) {
      text += " " + accessors
    }
    add(container.path.isEmpty ? text : "\(container.path): \(text)", isForGeneratedCode(words, in: container))
  }

  /// Returns the statement on one line with single spaces. Initial values are omitted unless `keepsValues` is true.
  private func collapsed(_ statement: String, keepsValues: Bool = false) -> String {
    var text = statement.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for (long, short) in [("( ", "("), (" )", ")"), ("[ ", "["), (" ]", "]"), (",)", ")")] {
      while let range = text.ranges(of: long).first { text.replaceSubrange(range, with: short) }
    }
    if keepsValues { return text }
    // Outside of parentheses, `=` begins a value, except in operators and same-type requirements.
    var depth = 0
    for place in text.indices {
      switch text[place] {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "=" where depth == 0:
        let next = text.index(after: place)
        guard place > text.startIndex, text[text.index(before: place)] == " ", next < text.endIndex, text[next] == " " else { continue }
        if text.contains("typealias ") || text.contains("associatedtype ") { continue }
        return String(text[..<text.index(before: place)])
      default: continue
      }
    }
    return text
  }

  // MARK: Scanning

  /// Returns the text up to the end of a statement: the brace of a body, a closing brace, or a line end without continuation. Attributes on
  /// separate lines belong to the following statement.
  private mutating func nextStatement() -> String? {
    var text = ""
    var depth = 0
    while index < code.count {
      let character = code[index]
      switch character {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "{" where depth == 0:
        // Only a new statement can begin with a brace.
        if text.allSatisfy(\.isWhitespace) {
          _ = skipBody(isRequirement: false)
          continue
        }
        return trimmed(text)
      case "}" where depth == 0:
        if !text.allSatisfy(\.isWhitespace) { return trimmed(text) }
        index += 1
        return "}"
      case "{": depth += 1
      case "}": depth -= 1
      case "\n", ";":
        if depth == 0, !text.allSatisfy(\.isWhitespace), !goesOn(text) {
          index += 1
          return trimmed(text)
        }
      case "#" where text.allSatisfy(\.isWhitespace) && !startsLiteral(index):
        while index < code.count, code[index] != "\n" { index += 1 }
        text = ""
        continue
      default: break
      }
      text.append(character)
      index += 1
    }
    return text.allSatisfy(\.isWhitespace) ? nil : trimmed(text)
  }

  private func startsLiteral(_ place: Int) -> Bool { place + 1 < code.count && (code[place + 1] == "\"" || code[place + 1] == "#") }

  private func trimmed(_ text: String) -> String {
    String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }

  /// Whether a statement continues on the next line.
  private func goesOn(_ text: String) -> Bool {
    let words = text.split(whereSeparator: \.isWhitespace)
    if words.allSatisfy({ $0.hasPrefix("@") }) { return true }
    if let last = words.last, [",", "=", "->", ":", "&&", "||", "??", "+", "?", "where"].contains(String(last)) || last.hasSuffix(",") {
      return true
    }
    var next = index
    while next < code.count, code[next].isWhitespace { next += 1 }
    guard next < code.count else { return false }
    if "{?:.&|+-=".contains(code[next]), code[next] != "{" || isBodyExpected(words) { return true }
    let word = String(code[next...].prefix { $0.isLetter })
    return ["where", "throws", "async", "rethrows"].contains(word) || (code[next] == "-" && next + 1 < code.count && code[next + 1] == ">")
  }

  private func isBodyExpected(_ words: [Substring]) -> Bool {
    words.contains { ["func", "init", "var", "subscript", "deinit"].contains($0.prefix { $0.isLetter }) || Self.typeKeywords.contains($0) }
  }

  /// Skips a body. Returns `{ get }` or `{ get set }` according to the accessors directly in it.
  private mutating func skipBody(isRequirement: Bool) -> String {
    var depth = 0
    var direct = ""
    repeat {
      if code[index] == "{" { depth += 1 } else if code[index] == "}" { depth -= 1 } else if depth == 1 { direct.append(code[index]) }
      index += 1
    } while depth > 0 && index < code.count
    let words = direct.split { !$0.isLetter && $0 != "_" }
    return words.contains("set") || words.contains("_modify") || words.contains("didSet") ? "{ get set }" : "{ get }"
  }
}
