import CipherDataToolKit
import XCTest

/// Tables, CSV and JSON lines; column widths on a terminal; progress.
final class OutputTests: XCTestCase {
  private func output(_ format: OutputFormat, _ columns: [String], _ rows: [[JSONValue]]) throws -> String {
    let sink = OutputSink(descriptor: nil)
    let writer = try format.writer(columns: columns, to: sink)
    for row in rows { try writer.write(row) }
    try writer.finish()
    return sink.text
  }

  func testWidthsOfWideCombiningAndEmojiCharacters() {
    let cases: [(String, Int)] = [
      ("abc", 3), ("", 0), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("한글", 4), ("\u{1112}\u{1161}\u{11AB}", 2), ("ｱ", 1), ("Ａ", 2), ("😀", 2),
      ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("👍🏽", 2), ("שלום", 4), ("a\u{200B}b", 2), ("ไทย", 3),
    ]
    for (text, width) in cases { XCTAssertEqual(DisplayWidth.of(text), width, text) }
    XCTAssertEqual(DisplayWidth.prefix("漢字abc", width: 5), "漢字a")
    XCTAssertEqual(DisplayWidth.prefix("漢字", width: 3), "漢")
  }

  func testTableColumnsAlignByVisibleWidth() throws {
    let text = try output(
      .table, ["name", "size"],
      [[.string("漢字"), .number("5")], [.string("cafe\u{301}"), .number("1234")], [.string("😀"), .null]])
    XCTAssertEqual(text, "name  size\n────  ────\n漢字     5\ncafe\u{301}  1234\n😀       –\n")
  }

  func testATableKeepsControlCharactersOfDataFromTheTerminal() throws {
    let text = try output(.table, ["v"], [[.string("a\u{1B}[2Jb\nc\u{202E}d")]])
    XCTAssertEqual(text.split(separator: "\n").last, "a\u{FFFD}[2Jb⏎c\u{FFFD}d")
  }

  func testLongTablesUseTheColumnWidthsOfTheFirstRows() throws {
    let rows = (0..<1200).map { [JSONValue.integer($0)] }
    let lines = try output(.table, ["n"], rows).split(separator: "\n")
    XCTAssertEqual(lines.count, 1202)
    XCTAssertEqual(lines[3], "  1")
    XCTAssertEqual(lines[1201], "1199")
  }

  func testCSVIsQuotedAsInRFC4180() throws {
    let text = try output(
      .csv, ["a", "b,c"],
      [
        [.string("plain"), .string("with,comma")], [.string("with \"quote\""), .string("two\r\nlines")], [.null, .string("")],
        [.number("1.50"), .bool(true)],
      ])
    XCTAssertEqual(
      text,
      "a,\"b,c\"\r\nplain,\"with,comma\"\r\n\"with \"\"quote\"\"\",\"two\r\nlines\"\r\n,\"\"\r\n1.50,true\r\n")
  }

  func testJSONIsAnArrayAndJSONLinesHaveOneObjectPerLine() throws {
    let rows: [[JSONValue]] = [[.string("x"), .null], [.string("y"), .number("2")]]
    XCTAssertEqual(try output(.jsonl, ["a", "b"], rows), "{\"a\":\"x\",\"b\":null}\n{\"a\":\"y\",\"b\":2}\n")
    XCTAssertEqual(try output(.json, ["a", "b"], rows), "[\n  {\"a\":\"x\",\"b\":null},\n  {\"a\":\"y\",\"b\":2}\n]\n")
    XCTAssertEqual(try output(.json, ["a"], []), "[]\n")
  }

  func testAProgressLineFitsItsTerminal() {
    XCTAssertEqual(
      ProgressBar.line("Importing", done: 50, total: 100, detail: "7 objects", width: 40), "Importing [#####-----]  50% 7 objects")
    XCTAssertLessThan(DisplayWidth.of(ProgressBar.line("Importing", done: 1, total: 2, detail: "漢字漢字漢字漢字", width: 20)), 20)
    XCTAssertEqual(ProgressBar.line("Importing", done: 9, total: nil, detail: "9 objects", width: 80), "Importing 9 objects")
  }
}
