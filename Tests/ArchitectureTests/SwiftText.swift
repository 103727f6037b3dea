/// Source code line by line: the text, the code with blanks in place of comments and the contents of string literals, and these comments and contents with
/// blanks in place of code.
struct SwiftText {
  let lines: [Substring]
  let code: [Substring]
  /// Comments and the contents of string literals. Interpolated expressions are code.
  let prose: [Substring]

  init(_ source: String) {
    var blanker = Blanker(Array(source.utf8))
    blanker.run()
    lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    code = Self.lines(blanker.output)
    prose = Self.lines(blanker.prose)
  }

  private static func lines(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The numbers (from 0) of the lines whose code contains a word, once per occurrence.
  func lines(containing word: String) -> [Int] {
    code.indices.flatMap { index in Array(repeating: index, count: code[index].occurrences(of: word)) }
  }
}

extension Substring {
  /// The number of occurrences of a text, except in longer names.
  func occurrences(of word: String) -> Int {
    ranges(of: word).count { range in
      let before = range.lowerBound > startIndex ? self[index(before: range.lowerBound)] : " "
      let after = range.upperBound < endIndex ? self[range.upperBound] : " "
      let joinsBefore = (word.first.map(Self.isNameCharacter) ?? false) && Self.isNameCharacter(before)
      let joinsAfter = (word.last.map(Self.isNameCharacter) ?? false) && Self.isNameCharacter(after)
      return !joinsBefore && !joinsAfter
    }
  }

  private static func isNameCharacter(_ character: Character) -> Bool { character.isLetter || character.isNumber || character == "_" }
}

/// Blanks comments and the contents of literals, keeping all lines. Regex literals are treated as code; the sources have none with quotes.
private struct Blanker {
  private let input: [UInt8]
  private(set) var output: [UInt8] = []
  private(set) var prose: [UInt8] = []
  private var index = 0

  init(_ input: [UInt8]) {
    self.input = input
    output.reserveCapacity(input.count)
    prose.reserveCapacity(input.count)
  }

  mutating func run() {
    while index < input.count {
      guard input[index] == UInt8(ascii: "/") || input[index] == UInt8(ascii: "\"") || input[index] == UInt8(ascii: "#") else {
        keep()
        continue
      }
      if starts("//") {
        while index < input.count, input[index] != 10 { blank() }
      } else if starts("/*") {
        blankBlockComment()
      } else if let hashes = stringStart() {
        blankString(hashes: hashes)
      } else {
        keep()
      }
    }
  }

  private func starts(_ text: StaticString, at offset: Int = 0) -> Bool {
    text.withUTF8Buffer { wanted in
      index + offset + wanted.count <= input.count && wanted.indices.allSatisfy { input[index + offset + $0] == wanted[$0] }
    }
  }

  private mutating func keep() {
    output.append(input[index])
    prose.append(input[index] == 10 ? 10 : 32)
    index += 1
  }

  private mutating func blank() {
    output.append(input[index] == 10 ? 10 : 32)
    prose.append(input[index])
    index += 1
  }

  private mutating func blankBlockComment() {
    var depth = 0
    repeat {
      if starts("/*") { depth += 1 } else if starts("*/") { depth -= 1 }
      blank()
      if index < input.count { blank() }
      while index < input.count, depth > 0, !starts("/*"), !starts("*/") { blank() }
    } while depth > 0 && index < input.count
  }

  /// The number of `#` before a string literal that begins here.
  private func stringStart() -> Int? {
    var hashes = 0
    while index + hashes < input.count, input[index + hashes] == UInt8(ascii: "#") { hashes += 1 }
    return index + hashes < input.count && input[index + hashes] == UInt8(ascii: "\"") ? hashes : nil
  }

  private func isClosed(_ hashes: Int, quotes: Int) -> Bool {
    guard index + quotes + hashes <= input.count else { return false }
    return (0..<quotes).allSatisfy { input[index + $0] == UInt8(ascii: "\"") }
      && (0..<hashes).allSatisfy { input[index + quotes + $0] == UInt8(ascii: "#") }
  }

  private mutating func blankString(hashes: Int) {
    for _ in 0..<hashes { keep() }
    let quotes = starts("\"\"\"") ? 3 : 1
    for _ in 0..<quotes { keep() }
    while index < input.count, !isClosed(hashes, quotes: quotes) {
      if quotes == 1, input[index] == 10 { return }
      guard input[index] == UInt8(ascii: "\\"), (0..<hashes).allSatisfy({ index + 1 + $0 < input.count && input[index + 1 + $0] == 35 })
      else {
        blank()
        continue
      }
      for _ in 0...hashes { blank() }
      guard index < input.count else { return }
      if input[index] == UInt8(ascii: "(") { blankInterpolation() } else { blank() }
    }
    for _ in 0..<(quotes + hashes) where index < input.count { keep() }
  }

  private mutating func blankInterpolation() {
    let first = prose.count
    defer { for position in first..<prose.count where prose[position] != 10 { prose[position] = 32 } }
    var depth = 0
    repeat {
      if input[index] == UInt8(ascii: "(") { depth += 1 }
      if input[index] == UInt8(ascii: ")") { depth -= 1 }
      if let hashes = stringStart() {
        let start = output.count
        blankString(hashes: hashes)
        for position in start..<output.count where output[position] != 10 { output[position] = 32 }
      } else {
        blank()
      }
    } while depth > 0 && index < input.count
  }
}
