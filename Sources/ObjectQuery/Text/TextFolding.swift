import Foundation

/// Folding for `[c]` and `[d]`, in memory and in SQL. Texts that are equal under the options have equal bytes after folding.
///
/// The text is decomposed canonically. `[d]` removes marks above, below and through letters: those of the canonical combining classes 1, 10
/// to 35 and 200 to 240. These are Latin, Greek and Cyrillic accents and Hebrew and Arabic points, but neither the vowel signs of Indic
/// scripts nor the voicing marks of kana. `[c]` replaces each letter with its full case folding (ß with ss, ς with σ; dotless ı is
/// unchanged). The result is composed again. Under either option, both normal forms of a letter are therefore equal; without options they
/// differ. Folding is idempotent. ASCII text takes one pass over its bytes.
package enum TextFolding {
  /// Returns the folded text, or the text itself if no option folds.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - options: The options; only `caseInsensitive` and `diacriticInsensitive` apply.
  package static func fold(_ text: String, _ options: ComparisonOptions) -> String {
    let options = options.intersection(folding)
    guard !options.isEmpty else { return text }
    var result: [UInt8] = []
    withUTF8(of: text) { fold(utf8: $0, options, into: &result) }
    return String(decoding: result, as: UTF8.self)
  }

  /// Appends the folded form of UTF-8 text to an array of bytes. Complexity: O(*n*) in the length of the text.
  ///
  /// - Parameters:
  ///   - utf8: The text. Invalid UTF-8 is replaced with U+FFFD.
  ///   - options: The options; only `caseInsensitive` and `diacriticInsensitive` apply.
  ///   - result: The array to append to.
  package static func fold(utf8: UnsafeBufferPointer<UInt8>, _ options: ComparisonOptions, into result: inout [UInt8]) {
    let options = options.intersection(folding)
    let start = result.count
    result.reserveCapacity(start + utf8.count)
    let lowers = options.contains(.caseInsensitive)
    var index = 0
    while index < utf8.count, utf8[index] < 0x80 {
      let byte = utf8[index]
      result.append(lowers && byte &- 0x41 < 26 ? byte | 0x20 : byte)
      index += 1
    }
    guard index < utf8.count else { return }
    guard !options.isEmpty else {
      result.append(contentsOf: utf8[index...])
      return
    }
    let table = FoldingTable.table(for: options)
    var decoder = UTF8.ForwardParser()
    var rest = utf8[index...].makeIterator()
    while case .valid(let encoded) = decoder.parseScalar(from: &rest) {
      let scalar = UTF8.decode(encoded)
      guard table.append(scalar, lowers: lowers, to: &result) else {
        result.removeSubrange(start...)
        result.append(contentsOf: foldSlowly(String(decoding: utf8, as: UTF8.self), options).utf8)
        return
      }
      index += encoded.count
    }
    if index < utf8.count {
      // Invalid UTF-8.
      result.removeSubrange(start...)
      result.append(contentsOf: foldSlowly(String(decoding: utf8, as: UTF8.self), options).utf8)
    }
  }

  /// The version of the folding results, as digits and underscores: of the rules, and of the Unicode data that they use. Indexes over
  /// folded texts are valid for one version only.
  package static let version: String = {
    // Increment whenever the rules change the result for any text.
    let rules = 1
    var unicode = (major: 0, minor: 0)
    // Every version of Unicode adds letters to these planes. Takes about 5 ms, once, for models with such indexes.
    for value in UInt32(0x80)..<0x20000 {
      guard let age = Unicode.Scalar(value)?.properties.age, age > unicode else { continue }
      unicode = age
    }
    return "\(rules)_\(unicode.major)_\(unicode.minor)"
  }()

  static let folding: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]

  /// Folds any text by definition, without the table.
  static func foldSlowly(_ text: String, _ options: ComparisonOptions) -> String {
    let strips = options.contains(.diacriticInsensitive)
    let lowers = options.contains(.caseInsensitive)
    var folded = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
      if strips && isDiacritic(scalar) { continue }
      if lowers { appendCaseFolding(of: scalar, to: &folded) } else { folded.append(scalar) }
    }
    return String(folded).precomposedStringWithCanonicalMapping
  }

  private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x300 else { return false }
    let combiningClass = scalar.properties.canonicalCombiningClass.rawValue
    return combiningClass == 1 || (10...35).contains(combiningClass) || (200...240).contains(combiningClass)
  }

  /// Appends the full case folding, derived from the case mappings: lower, upper and lower again unifies all cases of a letter (ẞ, ß and
  /// SS; σ and ς).
  private static func appendCaseFolding(of scalar: Unicode.Scalar, to result: inout String.UnicodeScalarView) {
    guard scalar.value >= 0x80 else {
      result.append(scalar.value &- 0x41 < 26 ? Unicode.Scalar(UInt8(scalar.value | 0x20)) : scalar)
      return
    }
    guard scalar.value != 0x131 else {
      result.append(scalar)
      return
    }
    for lower in scalar.properties.lowercaseMapping.unicodeScalars {
      for upper in lower.properties.uppercaseMapping.unicodeScalars {
        result.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
      }
    }
  }
}

/// Calls a function with the UTF-8 bytes of a string, without a copy if the string has contiguous storage.
func withUTF8<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
  if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
  var copy = text
  return copy.withUTF8(body)
}

/// A table of the folded forms of common letters, so that most texts need no normalization. None of these letters composes with a preceding
/// one.
struct FoldingTable: Sendable {
  private var bytes: [UInt8] = []
  /// The offset of each letter's form; one more entry than there are letters.
  private var starts: [Int32] = []

  /// U+0080 to U+02FF, U+0370 to U+052F and U+1E00 to U+1FFF, without combining marks, whose entries are empty and never used.
  private static let low: Range<UInt32> = 0x80..<0x530
  private static let high: Range<UInt32> = 0x1E00..<0x2000

  private static let caseTable = FoldingTable(.caseInsensitive)
  private static let diacriticTable = FoldingTable(.diacriticInsensitive)
  private static let bothTable = FoldingTable([.caseInsensitive, .diacriticInsensitive])

  static func table(for options: ComparisonOptions) -> FoldingTable {
    switch options {
    case .caseInsensitive: caseTable
    case .diacriticInsensitive: diacriticTable
    default: bothTable
    }
  }

  /// Folds all letters in one text, one per line.
  private init(_ options: ComparisonOptions) {
    var lines = String.UnicodeScalarView()
    for value in [FoldingTable.low, FoldingTable.high].joined() {
      if let scalar = Unicode.Scalar(value), !FoldingTable.combines(value) { lines.append(scalar) }
      lines.append("\n")
    }
    starts.append(0)
    for byte in TextFolding.foldSlowly(String(lines), options).utf8 {
      if byte == 0x0A { starts.append(Int32(bytes.count)) } else { bytes.append(byte) }
    }
  }

  private static func combines(_ value: UInt32) -> Bool { (0x300..<0x370).contains(value) || (0x483..<0x48A).contains(value) }

  /// Appends the folded form of a scalar; returns false if the table does not contain it.
  func append(_ scalar: Unicode.Scalar, lowers: Bool, to result: inout [UInt8]) -> Bool {
    let value = scalar.value
    if value < 0x80 {
      result.append(lowers && value &- 0x41 < 26 ? UInt8(value | 0x20) : UInt8(value))
      return true
    }
    let entry: Int
    if FoldingTable.low.contains(value) {
      guard !FoldingTable.combines(value) else { return false }
      entry = Int(value - FoldingTable.low.lowerBound)
    } else if FoldingTable.high.contains(value) {
      entry = FoldingTable.low.count + Int(value - FoldingTable.high.lowerBound)
    } else {
      guard FoldingTable.isUnchanged(value) else { return false }
      result.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
      return true
    }
    result.append(contentsOf: bytes[Int(starts[entry])..<Int(starts[entry + 1])])
    return true
  }

  /// Returns whether a scalar has neither case nor marks: dashes and quotes, precomposed kana, Han, Hangul syllables, pictographs.
  private static func isUnchanged(_ value: UInt32) -> Bool {
    switch value {
    case 0x2010..<0x2028, 0x3041..<0x3095, 0x30A1..<0x30FB, 0x3400..<0x4DC0, 0x4E00..<0xA000, 0xAC00..<0xD7A4, 0x1F300..<0x1FB00: true
    default: false
    }
  }
}
