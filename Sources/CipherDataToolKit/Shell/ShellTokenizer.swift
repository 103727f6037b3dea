/// A tokenizer for lines of the shell.
///
/// Words are separated by spaces and can be quoted. The value of an option extends to the next option, including spaces and quotation
/// marks, so that a predicate needs no second level of quoting: `fetch Package --where name == "zsh" --sort -installedSize`. Quotation
/// marks around a whole value are removed, so that a line of the command-line tool means the same here.
package enum ShellTokenizer {
  /// Returns the words of a line.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage`` if a quotation mark is not closed.
  package static func split(_ line: String) throws -> [String] {
    var words: [String] = []
    for part in try parts(of: Array(line)) {
      if part.isOption {
        words.append(String(part.text))
      } else if words.last?.hasPrefix("--") ?? false {
        let value = unquoted(part.text)
        // The argument parser expects `--name=value` as one word.
        if let last = words.last, last.hasSuffix("=") { words[words.count - 1] = last + value } else { words.append(value) }
      } else {
        words += unquotedWords(part.text)
      }
    }
    return words
  }

  /// A part of a line: the name of an option, or the text between two.
  struct Part: Hashable {
    var text: ArraySlice<Character>
    var isOption: Bool
  }

  /// Returns the parts of a line, without surrounding spaces.
  static func parts(of line: [Character], allowsOpenQuote: Bool = false) throws -> [Part] {
    var parts: [Part] = []
    var start = 0
    var index = 0
    func add(_ range: Range<Int>, isOption: Bool) {
      var text = line[range]
      while text.first?.isWhitespace ?? false { text.removeFirst() }
      while text.last?.isWhitespace ?? false { text.removeLast() }
      if !text.isEmpty { parts.append(Part(text: text, isOption: isOption)) }
    }
    while index < line.count {
      if let end = endOfQuoted(line, index) {
        index = end
      } else if isQuote(line[index]) {
        guard allowsOpenQuote else { throw ToolError(.usage, "The quotation mark \(line[index]) at column \(index + 1) is not closed.") }
        break
      } else if isOption(line, index) {
        add(start..<index, isOption: false)
        start = index
        while index < line.count, !line[index].isWhitespace, line[index] != "=" { index += 1 }
        if index < line.count, line[index] == "=" { index += 1 }
        add(start..<index, isOption: true)
        start = index
      } else {
        index += 1
      }
    }
    add(start..<line.count, isOption: false)
    return parts
  }

  /// Returns whether an option begins at a position: two hyphens and a letter, at the start of the line or after a space.
  private static func isOption(_ line: [Character], _ index: Int) -> Bool {
    guard index + 2 < line.count, line[index] == "-", line[index + 1] == "-", line[index + 2].isLetter else { return false }
    return index == 0 || line[index - 1].isWhitespace
  }

  static func isQuote(_ character: Character) -> Bool { character == "\"" || character == "'" }

  /// Returns the position after the quoted text that begins at a position; `nil` if none begins or the text is not closed.
  private static func endOfQuoted(_ line: [Character], _ start: Int) -> Int? {
    guard isQuote(line[start]) else { return nil }
    var index = start + 1
    while index < line.count {
      if line[index] == "\\" {
        index += 1
      } else if line[index] == line[start] {
        return index + 1
      }
      index += 1
    }
    return nil
  }

  /// Returns a value without quotation marks around the whole.
  private static func unquoted(_ text: ArraySlice<Character>) -> String {
    let characters = Array(text)
    guard characters.count >= 2, endOfQuoted(characters, 0) == characters.count else { return String(characters) }
    return content(characters[...])
  }

  private static func unquotedWords(_ text: ArraySlice<Character>) -> [String] {
    let characters = Array(text)
    var words: [String] = []
    var word: String?
    var index = 0
    while index < characters.count {
      if let end = endOfQuoted(characters, index) {
        word = (word ?? "") + content(characters[index..<end])
        index = end
      } else {
        if characters[index].isWhitespace {
          if let word { words.append(word) }
          word = nil
        } else {
          word = (word ?? "") + String(characters[index])
        }
        index += 1
      }
    }
    return words + (word.map { [$0] } ?? [])
  }

  /// Returns the text between quotation marks. In double quotation marks, a backslash escapes a quotation mark or a backslash.
  private static func content(_ quoted: ArraySlice<Character>) -> String {
    let isDouble = quoted.first == "\""
    var result = ""
    var isEscaped = false
    for character in quoted.dropFirst().dropLast() {
      if isEscaped {
        if character != "\"" && character != "\\" { result.append("\\") }
        result.append(character)
        isEscaped = false
      } else if character == "\\" && isDouble {
        isEscaped = true
      } else {
        result.append(character)
      }
    }
    return result
  }
}
