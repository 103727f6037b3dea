import Foundation

/// The tokenization of SEARCH, in memory and in SQL.
///
/// A word is a run of letters, marks and numbers as defined by Unicode, with case and accents folded (``TextFolding``). In scripts that are
/// written without spaces (Chinese and Japanese characters, kana, Thai, Lao, Khmer, Burmese), each letter with its marks is a word. So is
/// each emoji, without its skin color. All other characters separate words; invisible ones (soft hyphens, joiners, the Arabic tatweel) are
/// ignored. Words are not stemmed.
package enum TextWords {
  /// Returns the folded words of a text, in order. Complexity: O(*n*) in the length of the text.
  package static func words(of text: String) -> [String] {
    normalized(text).split(separator: space).map { String(decoding: $0, as: UTF8.self) }
  }

  static let space: UInt8 = 0x20

  /// Returns the words with a space before and after each; empty if there are no words.
  static func normalized(_ text: String) -> [UInt8] { withUTF8(of: text) { normalized(utf8: $0) } }

  /// Returns the words of UTF-8 text with a space before and after each; empty if there are no words.
  package static func normalized(utf8 text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var folded: [UInt8] = []
    TextFolding.fold(utf8: text, TextFolding.folding, into: &folded)
    return folded.withUnsafeBufferPointer(separated)
  }

  /// The version of the tokenization, as digits and underscores. Indexes over words are valid for one version only.
  package static let version: String = {
    // Increment whenever the rules change the result for any text.
    let rules = 1
    return "\(rules)_\(TextFolding.version)"
  }()

  /// The role of a scalar in tokenization.
  enum Kind: UInt8 {
    /// The scalar separates words.
    case separator
    /// The scalar forms a word with adjacent ones.
    case joining
    /// The scalar is a word.
    case single
    /// The scalar belongs to the preceding word, if any.
    case mark
    /// The scalar is ignored.
    case ignored
  }

  /// The kind of each scalar of the basic plane. Computing it takes about 5 ms, once, for the first text that is not ASCII.
  private static let kinds: [UInt8] = (UInt32(0)..<0x10000).map { value in
    Unicode.Scalar(value).map { computedKind(of: $0).rawValue } ?? Kind.separator.rawValue
  }

  static func kind(of scalar: Unicode.Scalar) -> Kind {
    if scalar.value < 0x80 { return asciiKind(UInt8(scalar.value)) }
    return scalar.value < 0x10000 ? Kind(rawValue: kinds[Int(scalar.value)]) ?? .separator : computedKind(of: scalar)
  }

  @inline(__always) private static func asciiKind(_ byte: UInt8) -> Kind {
    byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 ? .joining : .separator
  }

  private static func computedKind(of scalar: Unicode.Scalar) -> Kind {
    let properties = scalar.properties
    if scalar.value < 0x80 { return asciiKind(UInt8(scalar.value)) }
    if scalar.value == 0x640 || properties.isVariationSelector || properties.isEmojiModifier { return .ignored }
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber, .letterNumber, .otherNumber:
      return isWrittenWithoutSpaces(scalar.value) ? .single : .joining
    case .nonspacingMark, .spacingMark, .enclosingMark: return .mark
    // The zero-width space separates words in Thai and Khmer.
    case .format: return scalar.value == 0x200B ? .separator : .ignored
    case .otherSymbol: return properties.isEmoji ? .single : .separator
    default: return properties.isEmojiPresentation ? .single : .separator
    }
  }

  private static func isWrittenWithoutSpaces(_ value: UInt32) -> Bool {
    switch value {
    // Thai, Lao, Burmese, Khmer, Tai scripts; kana, bopomofo, ideographs, Yi; half-width kana.
    case 0xE00..<0xF00, 0x1000..<0x10A0, 0x1780..<0x1800, 0x1950..<0x1A00, 0x1A20..<0x1AB0, 0x2E80..<0x3130, 0x31A0..<0xA4D0,
      0xA9E0..<0xAA00, 0xAA60..<0xAAE0, 0xF900..<0xFB00, 0xFF66..<0xFFA0, 0x16FE0..<0x18D80, 0x1AFF0..<0x1B300, 0x20000..<0x40000:
      true
    default: false
    }
  }

  private static func separated(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    // Each scalar of three bytes may become a word.
    var result: [UInt8] = []
    result.reserveCapacity(text.count + text.count / 8 + 2)
    // The state after the last scalar: no word, a word that may continue, or a word that takes only marks.
    var open = Kind.separator
    var index = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x80 {
        if asciiKind(byte) == .joining {
          if open != .joining { begin(&result, behind: open) }
          result.append(byte)
          open = .joining
        } else if open != .separator {
          result.append(space)
          open = .separator
        }
        index += 1
        continue
      }
      let (scalar, length) = decode(text, index)
      let kind = kind(of: scalar)
      switch kind {
      case .joining where open == .joining, .mark where open != .separator: result.append(contentsOf: text[index..<(index + length)])
      case .joining, .single:
        begin(&result, behind: open)
        result.append(contentsOf: text[index..<(index + length)])
        open = kind
      case .separator:
        if open != .separator { result.append(space) }
        open = .separator
      case .mark, .ignored: break
      }
      index += length
    }
    if open != .separator { result.append(space) }
    return result
  }

  /// Appends the space before a word.
  private static func begin(_ result: inout [UInt8], behind open: Kind) {
    if open != .separator || result.isEmpty { result.append(space) }
  }

  /// Decodes the scalar at a position of valid UTF-8 that is not ASCII. Returns it and its number of bytes.
  private static func decode(_ text: UnsafeBufferPointer<UInt8>, _ index: Int) -> (Unicode.Scalar, length: Int) {
    let first = text[index]
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC0, index + length <= text.count else { return ("\u{FFFD}", 1) }
    var value = UInt32(first) & (0xFF >> UInt32(length + 1))
    for next in (index + 1)..<(index + length) { value = value << 6 | UInt32(text[next] & 0x3F) }
    return (Unicode.Scalar(value) ?? "\u{FFFD}", length)
  }
}
