import CipherDataToolKit
import Foundation
import XCTest

/// Lines of files and pipes.
final class LineReaderTests: XCTestCase {
  private func lines(_ text: String, blockSize: Int = 16, longestLine: Int = 1 << 20) throws -> [String] {
    let folder = try TemporaryFolder()
    let reader = LineReader(
      try ByteSource(path: folder.file("lines", text).path), blockSize: blockSize, longestLine: longestLine)
    var lines: [String] = []
    while let line = try reader.next({ String(decoding: $0, as: UTF8.self) }) { lines.append(line) }
    XCTAssertEqual(reader.lineNumber, lines.count)
    return lines
  }

  func testLinesEndAtLineFeedsAndTheLastOneMayLackIt() throws {
    XCTAssertEqual(try lines("a\r\n\nbc"), ["a", "", "bc"])
    XCTAssertEqual(try lines(""), [])
    XCTAssertEqual(try lines("\n"), [""])
  }

  func testLinesLongerThanABlockAreWhole() throws {
    let long = String(repeating: "0123456789", count: 500)
    XCTAssertEqual(try lines("x\n\(long)\ny\n"), ["x", long, "y"])
  }

  func testEndlessLinesDoNotExhaustMemory() {
    XCTAssertThrowsError(try lines(String(repeating: "a", count: 5000), longestLine: 1024)) { error in
      XCTAssertEqual((error as? InputError)?.line, 1)
    }
  }

  func testLinesUpToTheMaximumLengthAreRead() throws {
    for (length, blockSize) in [(64, 16), (100, 16), (20, 64), (1_000, 16)] {
      let line = String(repeating: "a", count: length)
      for ending in ["", "\n", "\r\n", "\nb"] {
        XCTAssertEqual(try lines(line + ending, blockSize: blockSize, longestLine: length).first, line, "\(length), \(ending.utf8.count)")
        XCTAssertThrowsError(try lines(line + "a" + ending, blockSize: blockSize, longestLine: length), "\(length), \(ending.utf8.count)") {
          XCTAssertEqual(($0 as? InputError)?.line, 1)
        }
      }
    }
  }

  func testMissingFilesAndFoldersAreInputErrors() throws {
    let folder = try TemporaryFolder()
    for path in [folder.url.path, folder.url.appendingPathComponent("none").path] {
      XCTAssertThrowsError(try ByteSource(path: path)) { XCTAssertEqual(ExitReport($0).status, .noInput) }
    }
  }
}
