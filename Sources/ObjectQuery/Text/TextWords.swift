// TextWords: the words of a text, the one tokenisation that SEARCH means, in memory and in SQL.
import Foundation

/// The words of texts.
///
/// A word is a run of letters, marks and numbers, as Unicode has them, folded for case and accents (``TextFolding``). Of scripts that are written without
/// spaces (Chinese and Japanese characters, kana, Thai, Lao, Khmer, Burmese) each letter with its marks is a word, and so is each emoji, without its
/// skin colour. All else parts words; what shows nothing (soft hyphens, joiners, the Arabic tatweel) is left out of them. Words are not stemmed.
package enum TextWords {
  /// The words of a text, folded, in order. Complexity: linear.
  package static func words(of text: String) -> [String] {
    normalized(text).split(separator: space).map { String(decoding: $0, as: UTF8.self) }
  }

  static let space: UInt8 = 0x20

  /// The words with a space before and behind each; nothing where there are none.
  static func normalized(_ text: String) -> [UInt8] { withUTF8(of: text) { normalized(utf8: $0) } }

  /// The same of UTF-8 text.
  package static func normalized(utf8 text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var folded: [UInt8] = []
    TextFolding.fold(utf8: text, TextFolding.folding, into: &folded)
    return folded.withUnsafeBufferPointer(separated)
  }

  /// The version of what the words of a text are, as digits and underscores. Indexes over words hold for one version only.
  package static let version: String = {
    // To be counted up whenever the rules give another result for any text.
    let rules = 1
    return "\(rules)_\(TextFolding.version)"
  }()

  /// What a scalar is to the words around it.
  enum Kind: UInt8 {
    /// It parts words.
    case separator
    /// It makes a word together with its neighbours.
    case joining
    /// It is a word by itself.
    case single
    /// It belongs to what stands before it, if that is a word.
    case mark
    /// It is as if it were not there.
    case ignored
  }

  /// What each scalar of the basic plane is. About 5 ms, once, where texts that are not ASCII are asked for words.
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
    // A space of no width parts the words of Thai and Khmer.
    case .format: return scalar.value == 0x200B ? .separator : .ignored
    case .otherSymbol: return properties.isEmoji ? .single : .separator
    default: return properties.isEmojiPresentation ? .single : .separator
    }
  }

  private static func isWrittenWithoutSpaces(_ value: UInt32) -> Bool {
    switch value {
    // Thai, Lao, Burmese, Khmer, Tai scripts; kana, bopomofo, ideographs, Yi; kana of half width.
    case 0xE00..<0xF00, 0x1000..<0x10A0, 0x1780..<0x1800, 0x1950..<0x1A00, 0x1A20..<0x1AB0, 0x2E80..<0x3130, 0x31A0..<0xA4D0,
      0xA9E0..<0xAA00, 0xAA60..<0xAAE0, 0xF900..<0xFB00, 0xFF66..<0xFFA0, 0x16FE0..<0x18D80, 0x1AFF0..<0x1B300, 0x20000..<0x40000:
      true
    default: false
    }
  }

  /// Parts folded text into words.
  private static func separated(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    // Of its scalars of three bytes each may become a word.
    var result: [UInt8] = []
    result.reserveCapacity(text.count + text.count / 8 + 2)
    // What the last scalar left open: nothing, a word that may go on, or one that takes marks only.
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

  /// The space before a word.
  private static func begin(_ result: inout [UInt8], behind open: Kind) {
    if open != .separator || result.isEmpty { result.append(space) }
  }

  /// The scalar at a place of valid UTF-8 that is not ASCII, and the number of its bytes.
  private static func decode(_ text: UnsafeBufferPointer<UInt8>, _ index: Int) -> (Unicode.Scalar, length: Int) {
    let first = text[index]
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC0, index + length <= text.count else { return ("\u{FFFD}", 1) }
    var value = UInt32(first) & (0xFF >> UInt32(length + 1))
    for next in (index + 1)..<(index + length) { value = value << 6 | UInt32(text[next] & 0x3F) }
    return (Unicode.Scalar(value) ?? "\u{FFFD}", length)
  }
}
