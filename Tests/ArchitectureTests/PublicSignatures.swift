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
    if text.contains("init(from decoder") || text.contains("encode(to encoder") { return nil }
    let (parameters, rest) = parameters(text)
    return PublicSignature(
      line: index + 1, text: trimmed(text), documentation: documentation(file, above: index), parameterNames: parameters,
      canThrow: rest.contains(/\bthrows\b/))
  }

  /// The internal names of the parameters, and the text after the list.
  private static func parameters(_ text: String) -> (names: [String], rest: Substring) {
    guard let keyword = text.firstMatch(of: /\b(func|init|subscript)\b/), let open = text[keyword.range.upperBound...].firstIndex(of: "(")
    else { return ([], "") }
    var (depth, names, current) = (0, [String](), "")
    var place = open
    while place < text.endIndex {
      let character = text[place]
      if "([{<".contains(character) { depth += 1 }
      // The `>` of an arrow is not a closing bracket.
      if ")]}".contains(character) || (character == ">" && text[text.index(before: place)] != "-") { depth -= 1 }
      if depth == 0 { break }
      if depth == 1, character == "," { names.append(name(current)); current = "" } else if place != open { current.append(character) }
      place = text.index(after: place)
    }
    if !trimmed(current).isEmpty { names.append(name(current)) }
    return (names, place < text.endIndex ? text[text.index(after: place)...] : "")
  }

  private static func name(_ parameter: String) -> String {
    String(parameter.prefix { $0 != ":" }.split(separator: " ").last ?? "")
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

  private static func trimmed(_ text: some StringProtocol) -> String {
    String(String(text.drop { $0 == " " }).reversed().drop { $0 == " " }.reversed())
  }
}
