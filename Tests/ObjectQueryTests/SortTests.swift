import Foundation
import ObjectModel
import ObjectQuery
import XCTest
import _TestSupport

/// The sort order of results in memory.
final class SortTests: XCTestCase {
  private var library: Library!

  override func setUpWithError() throws {
    library = try Library()
    try library.add("Author", 1, ["name": "b"])
    try library.add("Author", 2, ["name": "B"])
    try library.add("Author", 3, ["name": "a"])
    try library.add("Author", 4)
    try library.add("Book", 10, ["title": "x", "pages": 3, "price": Decimal(-5)], toOne: ["author": 1])
    try library.add("Book", 11, ["title": "file10", "pages": 3, "price": Decimal(10)], toOne: ["author": 3])
    try library.add("Book", 12, ["title": "file9", "pages": 1, "price": Decimal(9)])
  }

  private func authors(_ comparison: FetchSortDescriptor.Comparison, ascending: Bool = true) throws -> [Int] {
    try library.fetch("Author", nil, sortedBy: [FetchSortDescriptor("name", ascending: ascending, comparison: comparison)])
  }

  private func books(_ descriptors: FetchSortDescriptor...) throws -> [Int] { try library.fetch("Book", nil, sortedBy: descriptors) }

  func testMissingValuesSortFirstAscendingAndLastDescending() throws {
    XCTAssertEqual(try authors(.binary), [4, 2, 3, 1])
    XCTAssertEqual(try authors(.binary, ascending: false), [1, 3, 2, 4])
  }

  func testTextComparisonsBreakTiesByBytes() throws {
    XCTAssertEqual(try authors(.caseInsensitive), [4, 3, 2, 1])
    XCTAssertEqual(try authors(.localizedCaseInsensitive), [4, 3, 2, 1])
    XCTAssertEqual(try books(FetchSortDescriptor("title", comparison: .localizedStandard)), [12, 11, 10])
    XCTAssertEqual(try books(FetchSortDescriptor("title")), [11, 12, 10])
  }

  func testLocalizedStandardOrderSortsNumbersByValueAndIgnoresCase() {
    let names = ["10 z", "2 a", "File 1", "file 1b", "file 02", "file 2", "File 9", "file 10", "file 100", "ﬁle 3", "zebra"]
    let sorted = names.shuffled().sorted { SlotOrder.compare(.text($0), .text($1), by: TextOrder(.localizedStandard)) < 0 }
    XCTAssertEqual(
      sorted.filter { $0.lowercased().hasPrefix("file ") }, ["File 1", "file 1b", "file 02", "file 2", "File 9", "file 10", "file 100"])
    XCTAssertEqual(sorted.first, "2 a")
    XCTAssertEqual(sorted.last, "zebra")
    // The other orders do not.
    XCTAssertGreaterThan(SlotOrder.compare(.text("file 2"), .text("file 10"), by: TextOrder(.localizedCaseInsensitive)), 0)
  }

  func testEveryComparisonIsATotalOrder() {
    let letters = [
      "a", "A", "b", "ä", "Ä", "a\u{308}", "ß", "ss", "1", "01", "2", "10", "002", "0", " ", "-", "_", ".", "é", "٣", "漢", "あ", "ア",
      "\u{200d}", "\0", "Z",
      "ı", "İ", "i", "I", "ﬁ", "①", "²", "\u{301}",
    ]
    var random = SeededGenerator(seed: 12)
    let randomTexts = (0..<40).map { _ in
      (0..<Int.random(in: 0...3, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
    }
    // Under Swedish rules, Foundation's comparison is cyclic for the first three; without case, for the last three in some locales.
    let texts = randomTexts + ["aä", "zσ", "ä", "SSΣ\\", "ßςSS", "ß漢"]
    let locales = ["sv_SE", "de@collation=phonebook", "da_DK", "cs_CZ", "en_US_POSIX"].map { Locale(identifier: $0) }
    let comparisons = FetchSortDescriptor.Comparison.allCases
    for order in comparisons.map({ TextOrder($0) }) + locales.flatMap({ locale in comparisons.map { TextOrder($0, locale: locale) } }) {
      let orders = texts.map { left in texts.map { SlotOrder.compare(.text(left), .text($0), by: order).signum() } }
      for first in texts.indices {
        for second in texts.indices {
          XCTAssertEqual(orders[first][second], -orders[second][first], "\(order)")
          // Only equal bytes compare as equal, so that every store and every sort yields the same order.
          XCTAssertEqual(orders[first][second] == 0, texts[first].utf8.elementsEqual(texts[second].utf8), "\(order)")
          guard orders[first][second] < 0 else { continue }
          for third in texts.indices where orders[second][third] < 0 {
            XCTAssertLessThan(orders[first][third], 0, "\(order): \(texts[first]) \(texts[second]) \(texts[third])")
          }
        }
      }
    }
  }

  func testLocaleDeterminesTheOrderOfLetters() throws {
    let words = ["z", "ö", "ch", "h", "ä", "ad", "af"]
    func sorted(_ locale: String, _ comparison: FetchSortDescriptor.Comparison = .localized) throws -> [String] {
      try words.sorted(using: FetchSortDescriptor("SELF", comparison: comparison, locale: Locale(identifier: locale)))
    }
    XCTAssertEqual(try sorted("sv_SE"), ["ad", "af", "ch", "h", "z", "ä", "ö"])
    XCTAssertEqual(try sorted("de_DE"), ["ä", "ad", "af", "ch", "h", "ö", "z"])
    XCTAssertEqual(try sorted("de@collation=phonebook"), ["ad", "ä", "af", "ch", "h", "ö", "z"])
    XCTAssertEqual(try sorted("cs_CZ"), ["ä", "ad", "af", "h", "ch", "ö", "z"])
    for comparison in [FetchSortDescriptor.Comparison.localizedCaseInsensitive, .localizedStandard] {
      XCTAssertEqual(try sorted("sv_SE", comparison), ["ad", "af", "ch", "h", "z", "ä", "ö"])
    }
    // Without the rules of a locale there is one order.
    for comparison in [FetchSortDescriptor.Comparison.binary, .caseInsensitive] {
      XCTAssertEqual(try sorted("sv_SE", comparison), try sorted("de_DE", comparison))
    }
  }

  func testLaterKeysBreakTiesOfEarlierKeys() throws {
    XCTAssertEqual(try books(FetchSortDescriptor("pages"), FetchSortDescriptor("title")), [12, 11, 10])
    XCTAssertEqual(try books(FetchSortDescriptor("pages", ascending: false), FetchSortDescriptor("title", ascending: false)), [10, 11, 12])
    // The sort is stable.
    XCTAssertEqual(try books(FetchSortDescriptor("pages")), [12, 10, 11])
  }

  func testKeysMayFollowToOneRelationshipsAndCount() throws {
    XCTAssertEqual(try books(FetchSortDescriptor("author.name")), [12, 11, 10])
    XCTAssertEqual(try library.fetch("Author", nil, sortedBy: [FetchSortDescriptor("books.@count", ascending: false)]), [1, 3, 2, 4])
    XCTAssertEqual(try books(FetchSortDescriptor("price")), [10, 12, 11])
    XCTAssertThrowsError(try books(FetchSortDescriptor("tags.name"))) {
      XCTAssertEqual($0 as? FetchPredicateError, .toManyKeyNotAllowed(key: "tags", keyPath: "tags.name", entity: "Book"))
    }
  }

  func testKeysMayBeExpressions() throws {
    let length = FetchSortDescriptor(expression: try FetchExpression(format: "length(title)"), ascending: false)
    XCTAssertEqual(try books(length), [11, 12, 10])
    XCTAssertEqual(try books(FetchSortDescriptor(expression: try FetchExpression(format: "0 - price"))), [11, 12, 10])
    XCTAssertThrowsError(try books(FetchSortDescriptor(expression: .constant(.list([.int(1)]))))) {
      XCTAssertEqual("\($0)", "Ordering by a list is not supported here. Order by one value of each object.")
    }
  }
}
