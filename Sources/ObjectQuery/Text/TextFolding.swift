// TextFolding: the one function that [c] and [d] mean, in memory and in SQL.
import Foundation

/// Folds text so that texts which should be equal under `[c]` and `[d]` have equal bytes.
///
/// The text is decomposed canonically; `[d]` drops the marks above, below and through letters (canonical combining classes 1, 10 to 35 and 200 to
/// 240: Latin, Greek and Cyrillic accents, Hebrew and Arabic points; not the vowel signs of Indic scripts, nor the voicing marks of kana); `[c]` replaces each
/// letter by its full case folding (ß by ss, ς by σ; dotless ı stays); the rest is composed again. So under either option the two normal
/// forms of a letter are equal, without options they differ. Folding is idempotent, and ASCII text costs one pass over its bytes.
package enum TextFolding {
  /// The folded text; the text itself when the options fold nothing.
  ///
  /// - Parameters:
  ///   - text: Any text.
  ///   - options: Of which `caseInsensitive` and `diacriticInsensitive` count.
  package static func fold(_ text: String, _ options: ComparisonOptions) -> String {
    let options = options.intersection(folding)
    guard !options.isEmpty else { return text }
    var result: [UInt8] = []
    withUTF8(of: text) { fold(utf8: $0, options, into: &result) }
    return String(decoding: result, as: UTF8.self)
  }

  /// Appends the folded form of UTF-8 text to an array of bytes. Complexity: linear.
  ///
  /// - Parameters:
  ///   - utf8: The text; what is no valid UTF-8 counts as U+FFFD.
  ///   - options: Of which `caseInsensitive` and `diacriticInsensitive` count.
  ///   - result: Where the bytes are appended.
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

  /// The version of what folding gives, as digits and underscores: of its rules, and of the Unicode data that it goes by. Indexes over folded texts
  /// hold for one version only.
  package static let version: String = {
    // To be counted up whenever the rules give another result for any text.
    let rules = 1
    var unicode = (major: 0, minor: 0)
    // Every version of Unicode adds letters to these planes. About 5 ms, once, where a model has such indexes.
    for value in UInt32(0x80)..<0x20000 {
      guard let age = Unicode.Scalar(value)?.properties.age, age > unicode else { continue }
      unicode = age
    }
    return "\(rules)_\(unicode.major)_\(unicode.minor)"
  }()

  /// The options that fold.
  static let folding: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]

  /// Folding as it is defined, for any text.
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

  /// Full case folding out of the case mappings: lower, upper and lower again brings all cases of a letter together (ẞ, ß and SS; σ and ς).
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

/// Calls a function with the UTF-8 bytes of a string, without a copy where the string has them at hand.
func withUTF8<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
  if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
  var copy = text
  return copy.withUTF8(body)
}
