import CipherDataToolKit
import XCTest

/// JSON parsing and output: exact numbers, strict syntax, escapes.
final class JSONTests: XCTestCase {
  func testNumbersKeepTheirText() throws {
    for text in ["0", "-0", "1.50", "12345678901234567890123456789012345678", "1e400", "-2.5E-3"] {
      XCTAssertEqual(try JSONParser.parse(text), .number(text))
      XCTAssertEqual(try JSONParser.parse(text).serialized(), text)
    }
  }

  func testWrittenJSONReadsBack() throws {
    let value = JSONValue.object([
      ("text", .string("quote \" slash \\ line\nreturn\rtab\t nul\u{0} é 漢字 😀 \u{7F}")), ("none", .null), ("yes", .bool(true)),
      ("list", .array([.number("1"), .array([]), .object([JSONValue.Member]())])),
    ])
    XCTAssertEqual(try JSONParser.parse(value.serialized()), value)
    XCTAssertFalse(value.serialized().contains("\n"))
  }

  func testEscapesAndSurrogatesAreRead() throws {
    XCTAssertEqual(try JSONParser.parse(#""\u00e9\ud83d\ude00\/\b\f\n\r\t""#), .string("é😀/\u{8}\u{C}\n\r\t"))
  }

  func testInvalidJSONIsRejected() {
    let texts = [
      "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "01", "1.", ".5", "+1", "1e", "tru", "nulls", "\"a", "\"\n\"", #""\x""#,
      #""\ud800""#, #""\ud800\u0041""#, "1 2", "{\"a\":1,\"a\":2}", "[1}", "\u{FEFF}1",
    ]
    for text in texts { XCTAssertThrowsError(try JSONParser.parse(text), text) }
  }

  func testDeepNestingIsRejectedWithoutACrash() {
    XCTAssertNoThrow(try JSONParser.parse(String(repeating: "[", count: 150) + String(repeating: "]", count: 150)))
    XCTAssertThrowsError(try JSONParser.parse(String(repeating: "[", count: 100_000)))
  }

  func testInvalidUTF8IsRejected() {
    let bytes: [UInt8] = [0x22, 0xC3, 0x28, 0x22]
    XCTAssertThrowsError(try bytes.withUnsafeBytes { try JSONParser.parse($0) })
  }

  func testMembersKeepTheirOrder() throws {
    let value = try JSONParser.parse(#"{"z":1,"a":2}"#)
    XCTAssertEqual(value.serialized(), #"{"z":1,"a":2}"#)
    XCTAssertEqual(value["a"], .number("2"))
  }
}
