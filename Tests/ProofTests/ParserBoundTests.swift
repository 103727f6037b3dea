import CipherDataToolKit
import Foundation
import ModelCodeGeneration
import ObjectModel
import ObjectQuery
import ObjectStore
import StoreFiles
import StoreKeys
import Synchronization
import XCTest
import _FuzzTargets

/// Every parser accepts input at its limit on a small stack, and rejects input one past the limit.
final class ParserBoundTests: XCTestCase {
  /// Runs `body` on a thread with 512 KB of stack, the default of threads on Apple's systems.
  private func onASmallStack(_ size: Int = 512 << 10, _ body: @escaping @Sendable () throws -> Void) throws {
    let result = Mutex<Result<Void, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      let outcome = Result { try body() }
      result.withLock { $0 = outcome }
      done.signal()
    }
    thread.stackSize = size
    thread.start()
    done.wait()
    try result.withLock { try XCTUnwrap($0).get() }
  }

  /// Passes an input to a fuzz target on a small stack. Any result must be consistent.
  private func play(_ name: String, _ input: String, stack: Int = 512 << 10) throws {
    let target = try XCTUnwrap(FuzzTarget.named(name))
    try onASmallStack(stack) { XCTAssertNil(target.problem(Data(input.utf8)), String(input.prefix(20))) }
  }

  private func nested(_ open: String, _ count: Int, _ middle: String, _ close: String) -> String {
    String(repeating: open, count: count) + middle + String(repeating: close, count: count)
  }

  /// The stack size for predicates. Parsing needs no more than the default at any depth; recursion over a predicate needs many times as
  /// much per level in an unoptimized build.
  private var stackOfPredicates: Int {
    #if DEBUG
      3 << 20
    #else
      512 << 10
    #endif
  }

  func testPredicatesNestUpToAHundredLevels() throws {
    // A comparison has two levels, a constant has one.
    for (open, middle, close, most) in [
      ("NOT ", "TRUEPREDICATE", "", 99), ("NOT (", "year == 1", ")", 98), ("!", "year == 1", "", 98),
      ("year == 1 AND NOT (", "year == 1", ")", 49),
    ] {
      let text = nested(open, most, middle, close)
      XCTAssertNoThrow(try FetchPredicate(format: text), open)
      try play("predicate", text, stack: stackOfPredicates)
      XCTAssertThrowsError(try FetchPredicate(format: nested(open, most + 1, middle, close)), open) {
        XCTAssertTrue("\($0)".contains("nested deeper than 100"), "\($0)")
      }
    }
    for (open, middle, close) in [
      ("(1 + ", "1", ")"), ("-", "year", ""), ("abs:(", "year", ")"), ("{", "1", "}"), ("TERNARY(year > 1, ", "1", ", 2)"),
      ("CAST(", "year", ", 'Int')"), ("(", "1", ")"),
    ] {
      // The deepest accepted text, and the next one.
      let texts = (1...260).map { "year == " + nested(open, $0, middle, close) }
      let last = try XCTUnwrap(texts.lastIndex { (try? FetchPredicate(format: $0)) != nil }, open)
      let text = texts[last]
      try onASmallStack { XCTAssertNoThrow(try FetchPredicate(format: text), open) }
      XCTAssertGreaterThan(last, 40, open)
      try play("predicate", texts[last], stack: stackOfPredicates)
      XCTAssertThrowsError(try FetchPredicate(format: texts[last + 1]), open) { XCTAssertTrue("\($0)".contains("nested deeper"), "\($0)") }
    }
    for open in ["(", "NOT ", "-", "{", "abs(", "SUBQUERY(", "TERNARY("] { try play("predicate", String(repeating: open, count: 50_000)) }
  }

  func testCodedPredicatesNestUpToAHundredLevels() throws {
    let text = nested(#"{"not":"#, 99, #"{"constant":true}"#, "}")
    XCTAssertNoThrow(try JSONDecoder().decode(FetchPredicate.self, from: Data(text.utf8)))
    try play("request", text)
    let deeper = Data(nested(#"{"not":"#, 100, #"{"constant":true}"#, "}").utf8)
    XCTAssertThrowsError(try JSONDecoder().decode(FetchPredicate.self, from: deeper)) {
      XCTAssertTrue("\($0)".contains("100 levels"), "\($0)")
    }
    try play("request", nested("[", 100_000, "", "]"))
    try play("request", nested(#"{"not":"#, 100_000, "true", "}"))
  }

  func testTextQueriesNestUpToFortyParentheses() throws {
    let (most, more) = (nested("(", 40, "word", ")"), nested("(", 41, "word", ")"))
    try onASmallStack { XCTAssertNoThrow(try TextQuery(most)) }
    XCTAssertThrowsError(try TextQuery(more)) { XCTAssertTrue($0 is TextQueryError) }
    try onASmallStack { _ = TextQuery(typed: String(repeating: "(", count: 100_000) + "word") }
  }

  func testModelFilesNestUpToSixtyFourLevels() throws {
    let text = "<model>" + nested("<a>", 63, "", "</a>") + "</model>"
    XCTAssertNoThrow(try ManagedObjectModel(xmlData: Data(text.utf8)))
    try play("model", text)
    XCTAssertThrowsError(try ManagedObjectModel(xmlData: Data(("<model>" + nested("<a>", 64, "", "</a>") + "</model>").utf8))) {
      XCTAssertEqual(($0 as? ModelFileError)?.code, .tooLarge)
    }
    try play("model", "<model>" + nested("<a>", 100_000, "", "</a>") + "</model>")
  }

  func testModelFilesHaveUpToFourHundredThousandElements() throws {
    func file(_ count: Int) -> Data { Data(("<model>" + String(repeating: "<a/>", count: count - 1) + "</model>").utf8) }
    XCTAssertNoThrow(try ManagedObjectModel(xmlData: file(400_000)))
    XCTAssertThrowsError(try ManagedObjectModel(xmlData: file(400_001))) { XCTAssertEqual(($0 as? ModelFileError)?.code, .tooLarge) }
  }

  func testJSONValuesNestUpToTwoHundredLevels() throws {
    for (open, middle, close) in [("[", "1", "]"), (#"{"a":"#, "1", "}")] {
      let text = nested(open, JSONParser.deepest, middle, close)
      XCTAssertNoThrow(try JSONParser.parse(text))
      try play("json-lines", text)
      XCTAssertThrowsError(try JSONParser.parse(nested(open, JSONParser.deepest + 1, middle, close))) {
        XCTAssertTrue("\($0)".contains("200 levels"), "\($0)")
      }
      try play("json-lines", String(repeating: open, count: 100_000))
    }
  }

  func testConfigurationsNestUpToEightLevels() throws {
    func reason(_ count: Int) -> String {
      do {
        _ = try PluginConfiguration(Data(("{\"models\":" + nested("[", count, "", "]") + "}").utf8))
        return "none"
      } catch { return error.reason }
    }
    XCTAssertFalse(reason(7).contains("nested too deeply"), reason(7))
    XCTAssertTrue(reason(8).contains("nested too deeply"), reason(8))
    try play("configuration", String(repeating: "[", count: 100_000))
  }

  func testDeeplyNestedForeignPropertyListsDoNotTrap() throws {
    for text in [
      "<plist>" + nested("<array>", 100_000, "", "</array>") + "</plist>", String(repeating: "(", count: 1 << 20),
      String(repeating: "{a=", count: 1 << 20),
    ] {
      try play("property-list", text)
    }
  }

  func testHistoryIDsAndKeysAreLimited() throws {
    func varint(_ value: UInt64) -> [UInt8] { value < 128 ? [UInt8(value)] : [UInt8(value & 127) | 128] + varint(value >> 7) }
    func decode(_ id: UInt64, _ key: UInt64) throws -> HistoryRecord? {
      var decoder = HistoryDecoder([1] + varint(id) + varint(key) + [1], number: 1)
      return try decoder.next()
    }
    XCTAssertNotNil(try decode(HistoryDecoder.maximumID, HistoryDecoder.maximumKey))
    for (id, key) in [(HistoryDecoder.maximumID + 1, 1), (1, HistoryDecoder.maximumKey + 1), (0, 1), (1, 0)] {
      XCTAssertThrowsError(try decode(id, key)) { XCTAssertEqual(($0 as? StoreError)?.code, .storeCorrupt) }
    }
    // A list whose stated length exceeds the data.
    var decoder = HistoryDecoder([3, 1, 1] + varint(.max), number: 1)
    XCTAssertThrowsError(try decoder.next())
  }

  func testKeyFilesHaveUpToOneMebibyte() throws {
    func kind(_ count: Int) -> StoreAccessError.Kind? {
      do {
        _ = try KeyFile(parsing: [UInt8](repeating: 0, count: count), path: "x.keys")
        return nil
      } catch { return error.kind }
    }
    XCTAssertEqual(kind(KeyFile.maximumSize), .keyFileCorrupt(.beginning))
    XCTAssertEqual(kind(KeyFile.maximumSize + 1), .keyFileCorrupt(.size(KeyFile.maximumSize + 1)))
    XCTAssertEqual(kind(64), .keyFileCorrupt(.size(64)))
  }
}
