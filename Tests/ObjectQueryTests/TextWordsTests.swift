import ObjectQuery
import XCTest

/// The words of texts in many scripts.
final class TextWordsTests: XCTestCase {
  private func assertWords(_ text: String, _ words: String..., line: UInt = #line) {
    XCTAssertEqual(TextWords.words(of: text), words, text, line: line)
  }

  func testWordsAreRunsOfLettersMarksAndNumbers() {
    assertWords("The quick, brown fox!", "the", "quick", "brown", "fox")
    assertWords("  e-mail_address@example.org  ", "e", "mail", "address", "example", "org")
    assertWords("don't", "don", "t")
    assertWords("C++ 3.14 x86_64 4²", "c", "3", "14", "x86", "64", "4²")
    assertWords("")
    assertWords(" \t\n.,;–—«»'\"*-")
    assertWords("a\u{0}b", "a", "b")
  }

  func testCaseAndAccentsAreFolded() {
    assertWords("Élan ÉLAN e\u{301}lan", "elan", "elan", "elan")
    assertWords("Straße STRASSE", "strasse", "strasse")
    assertWords("ΟΔΟΣ οδός", "οδοσ", "οδοσ")
    assertWords("Ёлка ЙОД", "елка", "иод")
    assertWords("naïve coöperation Ǻngström", "naive", "cooperation", "angstrom")
  }

  func testMarksBelongToTheirLetters() {
    // Vowel signs are kept; points and the tatweel are removed.
    assertWords("हिन्दी भाषा", "हिन्दी", "भाषा")
    assertWords("كِتَابٌ كـتـاب", "كتاب", "كتاب")
    assertWords("שָׁלוֹם", "שלום")
    assertWords("\u{301}a", "a")
  }

  func testInvisibleCharactersAreOmitted() {
    assertWords("co\u{AD}operate", "cooperate")
    assertWords("می\u{200C}خواهم", "میخواهم")
    assertWords("a\u{200B}b", "a", "b")
  }

  func testLettersOfScriptsWithoutSpacesAreWords() {
    assertWords("東京タワー", "東", "京", "タ", "ワ", "ー")
    assertWords("iPhoneを買う", "iphone", "を", "買", "う")
    assertWords("中文。𠀋", "中", "文", "𠀋")
    assertWords("서울 특별시", "서울", "특별시")
    assertWords("กำลัง", "ก", "ำ", "ลั", "ง")
  }

  func testEmojiAreWords() {
    assertWords("go 🚀🚀!", "go", "🚀", "🚀")
    assertWords("👍🏽 👍", "👍", "👍")
    assertWords("👩‍👧", "👩", "👧")
    assertWords("❤️ ❤", "❤", "❤")
    assertWords("a€b©c", "a", "b", "©", "c")
  }

  func testWordSplittingIsIdempotent() {
    for text in ["Straße 東京 👍🏽 don't É\u{301} कि", "ﬁne ① ½ ⅷ Ａ", "ΆΈ ǆ ŉ"] {
      let words = TextWords.words(of: text)
      XCTAssertEqual(TextWords.words(of: words.joined(separator: " ")), words, text)
    }
  }

  func testNoWordHasASCIIPunctuation() {
    // FTS4 must not split such a word.
    for value in UInt32(0)..<0x3000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for word in TextWords.words(of: "x\(scalar)y") {
        XCTAssertFalse(word.unicodeScalars.contains { $0.value < 0x80 && !$0.properties.isAlphabetic && !("0"..."9").contains($0) }, word)
      }
    }
  }

  /// A changed checksum means that texts are split into different words: increment `rules` in ``TextWords/version``, then update the
  /// checksum here.
  func testWordRulesMatchTheirVersion() {
    XCTAssertTrue(TextWords.version.hasPrefix("1_1_"))
    var sum: UInt64 = 14_695_981_039_346_656_037
    // Letters and marks that every recent version of Unicode has.
    for value in [
      UInt32(0)..<0x250, 0x300..<0x370, 0x386..<0x3CF, 0x400..<0x460, 0x5B0..<0x5F0, 0x620..<0x660, 0x900..<0x950, 0xE01..<0xE5C,
      0x1E00..<0x1EFA, 0x2000..<0x2070, 0x3000..<0x3100, 0x4E00..<0x4E20, 0xAC00..<0xAC20,
    ].joined() {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for byte in TextWords.words(of: "a\(scalar)b").joined(separator: " ").utf8 { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
    }
    XCTAssertEqual(sum, 640_207_104_307_199_836)
  }
}
