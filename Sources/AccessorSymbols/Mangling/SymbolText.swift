/// An element of a symbol that is replaced by a number when it is repeated.
private enum Repeated: Hashable {
  case identifier(String)
  case nominal(MangledNominal)
  case type(MangledType)
}

/// A symbol under construction. Repeated identifiers and types are replaced by numbers, and so are repeated words of identifiers (`0A4Item`
/// is the first word and `Item`).
struct SymbolText {
  private static let maximumWords = 26

  private(set) var bytes: [UInt8] = []
  private var words: [Range<Int>] = []
  private var repeated: [Repeated: Int] = [:]
  private var lastNumber = LastNumber()

  var text: String { String(decoding: bytes, as: UTF8.self) }

  mutating func append(_ text: String) { bytes += text.utf8 }

  // MARK: What comes again

  /// Appends the number of a repeated identifier, or else the identifier.
  mutating func append(identifier: String) {
    if appendNumber(of: .identifier(identifier)) { return }
    keep(.identifier(identifier))
    write(identifier)
  }

  /// Appends the number of a repeated type. Returns `false` if the type is new.
  mutating func appendSubstitution(_ nominal: MangledNominal) -> Bool { appendNumber(of: .nominal(nominal)) }
  /// Appends the number of a repeated type. Returns `false` if the type is new.
  mutating func appendSubstitution(_ type: MangledType) -> Bool { appendNumber(of: .type(type)) }
  /// Records that the symbol contains the type.
  mutating func remember(_ nominal: MangledNominal) { keep(.nominal(nominal)) }
  /// Records that the symbol contains the type.
  mutating func remember(_ type: MangledType) { keep(.type(type)) }

  /// Appends the letter of a type of the standard library.
  mutating func append(standard letter: UInt8) {
    if !lastNumber.merge(letter, isStandard: true, into: &bytes) { bytes += [UInt8(ascii: "S"), letter] }
  }

  private mutating func keep(_ new: Repeated) { repeated[new] = repeated.count }

  private mutating func appendNumber(of old: Repeated) -> Bool {
    guard let number = repeated[old] else { return false }
    if number >= 26 {
      append("A" + (number == 26 ? "" : String(number - 27)) + "_")
      return true
    }
    let letter = UInt8(ascii: "A") + UInt8(number)
    if !lastNumber.merge(letter, isStandard: false, into: &bytes) { bytes += [UInt8(ascii: "A"), letter] }
    return true
  }

  // MARK: Identifiers

  private mutating func write(_ identifier: String) {
    let name = Array(identifier.utf8)
    if Punycode.isNeeded(for: name) {
      let code = Array(Punycode.encode(identifier).utf8)
      append("00\(code.count)")
      if let first = code.first, first == UInt8(ascii: "_") || first.isASCIIDigit { append("_") }
      bytes += code
      return
    }
    let known = words.count
    let again = findWords(of: name)
    if !again.isEmpty { append("0") }
    var position = 0
    var unplaced = known
    for (index, found) in again.enumerated() {
      writePiece(name[position..<found.start], from: position, &unplaced)
      position = found.start + words[found.word].count
      // All letters but the last are lowercase.
      bytes.append((index == again.count - 1 ? UInt8(ascii: "A") : UInt8(ascii: "a")) + UInt8(found.word))
      if index == again.count - 1, position == name.count { append("0") }
    }
    writePiece(name[position...], from: position, &unplaced)
  }

  /// Appends a piece of an identifier with its length. The positions of the words that begin in it now refer to this text.
  private mutating func writePiece(_ piece: ArraySlice<UInt8>, from start: Int, _ unplaced: inout Int) {
    if piece.isEmpty { return }
    append(String(piece.count))
    while unplaced < words.count, piece.indices.contains(words[unplaced].lowerBound) {
      let place = bytes.count + words[unplaced].lowerBound - start
      words[unplaced] = place..<(place + words[unplaced].count)
      unplaced += 1
    }
    bytes += piece
  }

  /// Returns the words of an identifier that occurred before. New words are recorded by their position in the identifier.
  private mutating func findWords(of name: [UInt8]) -> [(start: Int, word: Int)] {
    let known = words.count
    var again: [(start: Int, word: Int)] = []
    var start: Int?
    for position in 0...name.count {
      let byte = position < name.count ? name[position] : 0
      if let first = start, Self.ends(byte, name[position - 1]) {
        let word = name[first..<position]
        if let index = words.indices.first(where: { ($0 < known ? bytes[words[$0]] : name[words[$0]]).elementsEqual(word) }) {
          again.append((first, index))
        } else if word.count >= 2, words.count < Self.maximumWords {
          words.append(first..<position)
        }
        start = nil
      }
      if start == nil, byte != 0, byte != UInt8(ascii: "_"), !byte.isASCIIDigit { start = position }
    }
    return again
  }

  private static func ends(_ byte: UInt8, _ former: UInt8) -> Bool {
    byte == 0 || byte == UInt8(ascii: "_") || (byte.isASCIICapital && !former.isASCIICapital)
  }
}

/// The last number. A directly following one is merged with it: `SSSi` stays, `SSSS` is `S2S`, and `AAAB` is `AaB`.
private struct LastNumber {
  private static let maximumCount = 2048

  private var start = 0
  private var size = 0
  private var count = 0
  private var isStandard = false

  /// Merges a letter with the number at the end of the text. If the result is `false`, the caller must append the letter next.
  mutating func merge(_ letter: UInt8, isStandard: Bool, into bytes: inout [UInt8]) -> Bool {
    if count > 0, count < Self.maximumCount, bytes.count == start + size, self.isStandard == isStandard, let last = bytes.last {
      if last == letter {
        count += 1
        bytes.removeSubrange(start...)
        bytes += String(count).utf8
        bytes.append(letter)
        size = bytes.count - start
        return true
      }
      if !isStandard {
        bytes[bytes.count - 1] = last + 32
        start = bytes.count
        bytes.append(letter)
        (size, count) = (1, 1)
        return true
      }
    }
    (start, size, count) = (bytes.count + 1, 1, 1)
    self.isStandard = isStandard
    return false
  }
}

extension UInt8 {
  var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
  var isASCIICapital: Bool { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") }
  var isASCIILetter: Bool { isASCIICapital || self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
}

/// The encoding of non-ASCII identifiers in symbols: RFC 3492, with the delimiter `_` and the letters `A` to `J` for the last ten digits.
enum Punycode {
  private static let base = 36
  private static let least = 1
  private static let most = 26

  /// Returns whether a name contains characters that symbols cannot contain.
  static func isNeeded(for name: [UInt8]) -> Bool { !name.allSatisfy(isOfSymbols) }

  private static func isOfSymbols(_ byte: UInt8) -> Bool {
    byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
  }

  /// Returns the encoded name.
  static func encode(_ name: String) -> String {
    // ASCII characters that symbols cannot contain, as in names in backticks, are mapped to unused code points.
    let points = name.unicodeScalars.map { scalar -> Int in
      let value = Int(scalar.value)
      return value < 128 && !isOfSymbols(UInt8(value)) ? value + 0xD800 : value
    }
    var code = points.filter { $0 < 128 }.map { UInt8($0) }
    let basic = code.count
    if basic > 0 { code.append(UInt8(ascii: "_")) }
    var (next, delta, bias, done) = (128, 0, 72, basic)
    while done < points.count, let point = points.filter({ $0 >= next }).min() {
      delta += (point - next) * (done + 1)
      next = point
      for other in points {
        if other < next { delta += 1 }
        guard other == next else { continue }
        append(delta, bias, to: &code)
        bias = adapt(delta, done + 1, isFirst: done == basic)
        delta = 0
        done += 1
      }
      delta += 1
      next += 1
    }
    return String(decoding: code, as: UTF8.self)
  }

  private static func append(_ delta: Int, _ bias: Int, to code: inout [UInt8]) {
    var rest = delta
    var step = base
    while true {
      let threshold = step <= bias ? least : min(step - bias, most)
      if rest < threshold { break }
      code.append(digit(threshold + (rest - threshold) % (base - threshold)))
      rest = (rest - threshold) / (base - threshold)
      step += base
    }
    code.append(digit(rest))
  }

  private static func digit(_ value: Int) -> UInt8 { value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "A") + UInt8(value - 26) }

  private static func adapt(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / count
    var steps = 0
    while delta > (base - least) * most / 2 {
      delta /= base - least
      steps += base
    }
    return steps + (base - least + 1) * delta / (delta + 38)
  }
}
