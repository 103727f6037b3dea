/// A public function, initializer or throwing property, and the documentation comment above it.
struct PublicSignature {
  /// The number of its first line, from 1.
  let line: Int
  /// The declaration without its body, on one line.
  let text: String
  /// The lines of the comment, without `///`.
  let documentation: [String]
  let parameterNames: [String]
  let canThrow: Bool

  /// Returns the signatures in a file. Those that inherit their documentation, such as overrides and requirements of `Codable`, are
  /// omitted.
  static func of(_ file: SwiftText) -> [PublicSignature] {
    var found: [PublicSignature] = []
    var protocolIndent: Int?
    for (index, line) in file.code.enumerated() {
      let indent = line.prefix { $0 == " " }.count
      let words = line.split(separator: " ").map(String.init)
      if let open = protocolIndent, indent == open, line.dropFirst(indent).first == "}" { protocolIndent = nil }
      if words.starts(with: ["public", "protocol"]) { protocolIndent = indent }
      let isPublic = words.contains { $0 == "public" || $0 == "open" } || (protocolIndent.map { indent == $0 + 2 } ?? false)
      guard isPublic, !words.contains("override"), !words.contains("import"), let signature = read(file, at: index) else { continue }
      found.append(signature)
    }
    return found
  }

  private static func read(_ file: SwiftText, at index: Int) -> PublicSignature? {
    let start = file.code[index]
    guard let kind = start.firstMatch(of: /\b(func|init|subscript|var)\b/) else { return nil }
    // A property can throw only in an accessor, on its line or the next.
    if kind.1 == "var" {
      let accessors = file.code[index..<min(index + 2, file.code.count)].joined(separator: " ")
      guard accessors.contains(/\bget (async )?throws\b/) else { return nil }
      return PublicSignature(
        line: index + 1, text: trimmed(start), documentation: documentation(file, above: index), parameterNames: [], canThrow: true)
    }
    let text = declaration(file, at: index)
    if text.contains("init(from decoder") || text.contains("encode(to encoder") { return nil }
    let (parameters, rest) = parameters(text)
    return PublicSignature(
      line: index + 1, text: trimmed(text), documentation: documentation(file, above: index), parameterNames: parameters,
      canThrow: rest.contains(/\bthrows\b/))
  }

  /// A declaration without its body, on one line.
  fileprivate static func declaration(_ file: SwiftText, at index: Int) -> String {
    var text = ""
    var depth = 0
    var last = index
    scan: for line in file.code[index..<min(index + 20, file.code.count)] {
      for character in line {
        if "([".contains(character) { depth += 1 }
        if ")]".contains(character) { depth -= 1 }
        if character == "{", depth == 0 { break scan }
        text.append(character)
      }
      last += 1
      let next = last < file.code.count ? trimmed(file.code[last]) : ""
      let goesOn = next.firstMatch(of: /^(\)|throws|async|->|where\b|\{)/) != nil
      if depth == 0, !goesOn { break }
      text += " "
    }
    return text
  }

  /// The internal names of the parameters, and the text after the list.
  private static func parameters(_ text: String) -> (names: [String], rest: Substring) {
    let (parameters, rest) = parameterList(text)
    return (parameters.map { $0.last ?? "" }, rest)
  }

  /// The label and the internal name of each parameter, and the text after the list.
  fileprivate static func parameterList(_ text: String) -> (parameters: [[String]], rest: Substring) {
    guard let keyword = text.firstMatch(of: /\b(func|init|subscript|macro|case)\b/),
      let open = text[keyword.range.upperBound...].firstIndex(of: "(")
    else { return ([], "") }
    var (depth, list, current) = (0, [[String]](), "")
    var place = open
    while place < text.endIndex {
      let character = text[place]
      let before = place > open ? text[text.index(before: place)] : " "
      // The `>` of an arrow is not a closing bracket, and operators follow a space.
      if "([{".contains(character) || (character == "<" && before != " " && before != "<") { depth += 1 }
      if ")]}".contains(character) || (character == ">" && before != "-" && before != " ") { depth -= 1 }
      if depth == 0 { break }
      if depth == 1, character == "," { list.append(names(current)); current = "" } else if place != open { current.append(character) }
      place = text.index(after: place)
    }
    if !trimmed(current).isEmpty { list.append(names(current)) }
    return (list, place < text.endIndex ? text[text.index(after: place)...] : "")
  }

  private static func names(_ parameter: String) -> [String] {
    parameter.prefix { $0 != ":" }.split(separator: " ").map(String.init)
  }

  private static func documentation(_ file: SwiftText, above index: Int) -> [String] {
    var lines: [String] = []
    for line in file.lines[..<index].reversed() {
      let text = trimmed(line)
      if text.hasPrefix("@") { continue }
      guard text.hasPrefix("///") else { break }
      lines.append(trimmed(text.dropFirst(3)))
    }
    return lines.reversed()
  }

  fileprivate static func trimmed(_ text: some StringProtocol) -> String {
    String(String(text.drop { $0 == " " }).reversed().drop { $0 == " " }.reversed())
  }
}

/// The parameters that a documentation comment describes, and those of the declaration below it, for declarations of every access level.
struct ParameterDocumentation {
  /// The number of the declaration's first line, from 1.
  let line: Int
  let documented: [String]
  /// The labels and internal names of the parameters.
  let declared: Set<String>

  /// The documented parameters that the declaration does not have.
  var unknown: [String] { documented.filter { !declared.contains($0) } }

  /// Returns the comments in a file that describe parameters.
  static func of(_ file: SwiftText) -> [ParameterDocumentation] {
    var found: [ParameterDocumentation] = []
    var comment: [Substring] = []
    for (index, line) in file.lines.enumerated() {
      if line.drop(while: { $0 == " " }).hasPrefix("///") {
        comment.append(line.drop { $0 == " " }.dropFirst(3))
      } else if !comment.isEmpty, isDeclaration(file.code[index]) {
        let documented = names(comment)
        comment = []
        if documented.isEmpty { continue }
        let parameters = PublicSignature.parameterList(PublicSignature.declaration(file, at: index)).parameters
        let declared = parameters.joined().map { $0.filter { $0 != "`" } }
        found.append(ParameterDocumentation(line: index + 1, documented: documented, declared: Set(declared)))
      }
    }
    return found
  }

  /// Whether a line begins a declaration: attributes, comments and conditions of compilation come between it and its documentation.
  private static func isDeclaration(_ code: Substring) -> Bool {
    let rest = code.drop { $0 == " " }.trimmingPrefix(/(@\w+(\([^()]*(\([^()]*\)[^()]*)*\))?\s*)+/)
    return rest.first.map { $0 != " " && $0 != "#" } ?? false
  }

  /// The names after `- Parameter`, and those in a list after `- Parameters:`.
  private static func names(_ comment: [Substring]) -> [String] {
    var names: [Substring] = []
    var isInList = false
    for line in comment {
      let indent = line.prefix { $0 == " " }.count
      let text = line.dropFirst(indent)
      if text.hasPrefix("- Parameters:") {
        isInList = true
      } else if text.hasPrefix("- Parameter ") {
        names.append(text.dropFirst("- Parameter ".count).prefix { $0 != ":" })
      } else if text.hasPrefix("- ") {
        // Lists in the description of a parameter are indented further.
        if isInList, indent == 3 { names.append(text.dropFirst(2).prefix { $0 != ":" }) } else if indent < 3 { isInList = false }
      }
    }
    return names.map { $0.filter { $0 != "`" } }
  }
}
