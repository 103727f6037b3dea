import CipherDataToolKit
import XCTest

/// Shell lines are split into the words of a command line.
final class ShellTokenizerTests: XCTestCase {
  func testOptionValuesExtendToTheNextOption() throws {
    let cases: [(String, [String])] = [
      ("count Package", ["count", "Package"]),
      ("  fetch\tPackage  ", ["fetch", "Package"]),
      (
        #"fetch Package --where name == "zsh" AND size > 1 --sort -size, name --limit 5"#,
        ["fetch", "Package", "--where", #"name == "zsh" AND size > 1"#, "--sort", "-size, name", "--limit", "5"]
      ),
      (#"fetch Package --where "name" == "--limit x" --count"#, ["fetch", "Package", "--where", #""name" == "--limit x""#, "--count"]),
      (#"fetch Package --where a --5"#, ["fetch", "Package", "--where", "a --5"]),
      (#"update P --set a = 1--b --dry-run"#, ["update", "P", "--set", "a = 1--b", "--dry-run"]),
      ("fetch P --limit=5 --where=a == 'x y'", ["fetch", "P", "--limit=5", "--where=a == 'x y'"]),
      ("", []),
    ]
    for (line, words) in cases { XCTAssertEqual(try ShellTokenizer.split(line), words, line) }
  }

  func testQuotationMarksAroundAValueAreRemoved() throws {
    let cases: [(String, [String])] = [
      (#"fetch P --where 'name == "zsh"' --count"#, ["fetch", "P", "--where", #"name == "zsh""#, "--count"]),
      (#"fetch P --where "name == 'zsh'""#, ["fetch", "P", "--where", "name == 'zsh'"]),
      (#"fetch P --where "name == \"a\\b\"""#, ["fetch", "P", "--where", #"name == "a\b""#]),
      (#"fetch "My Entity" --count"#, ["fetch", "My Entity", "--count"]),
      (#"fetch P --where 'a' == 'b'"#, ["fetch", "P", "--where", "'a' == 'b'"]),
      (#"x a"b c"d ''"#, ["x", "ab cd", ""]),
    ]
    for (line, words) in cases { XCTAssertEqual(try ShellTokenizer.split(line), words, line) }
  }

  func testUnterminatedQuotationMarksAreReportedWithTheirPosition() {
    XCTAssertThrowsError(try ShellTokenizer.split(#"fetch P --where name == "zsh"#)) { error in
      XCTAssertEqual("\(error)", "The quotation mark \" at column 25 is not closed.")
    }
  }
}
