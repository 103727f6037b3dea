import CipherDataToolKit
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// The exit statuses and one-line messages of errors.
final class ExitStatusTests: XCTestCase {
  func testStoreErrorsHaveTheExitStatusOfTheirKind() {
    let cases: [(StoreError.Code, Int32)] = [
      (.keyRequired, 77), (.wrongKey, 77), (.invalidKey, 77), (.keyFileMissing, 77), (.unreadableStore, 77), (.storeNotFound, 66),
      (.noOpenStore, 66),
      (.alreadyExists, 73), (.storeCorrupt, 74),
      (.keyFileCorrupt, 74), (.diskFull, 74), (.io, 74), (.busy, 75), (.notEncrypted, 65), (.modelIncompatible, 65),
      (.constraintConflict, 65),
      (.invalidRequest, 64), (.cancelled, 130), (.internalInconsistency, 70),
    ]
    for (code, status) in cases { XCTAssertEqual(ExitReport(StoreError(code, "m")).status.rawValue, status, "\(code)") }
  }

  func testFileErrorsHaveTheExitStatusOfTheirKind() {
    let cases: [(StoreAccessError.Kind, Int32)] = [
      (.wrongKey, 77), (.keyRequired, 77), (.noSuchFile, 66), (.fileExists, 73), (.storeCorrupt(.pageMAC), 74), (.busy, 75),
      (.notEncrypted, 65), (.io(5), 74),
    ]
    for (kind, status) in cases {
      XCTAssertEqual(ExitReport(StoreAccessError(kind, path: "/x", operation: .open)).status.rawValue, status, "\(kind)")
    }
  }

  func testErrorOfTheKeyWorkLimitNamesThePropertyInTheLibraryAndTheOptionInTheTool() {
    let cause = StoreAccessError(.keyWorkExceeded(slot: "1 “anna”", needed: 9, isNew: false), path: "/x", operation: .unlock)
    let error = StoreError(cause)
    XCTAssertEqual(error.code, .keyWorkExceeded)
    for part in ["anna", "a key work of 9", "keyWorkLimit"] { XCTAssertTrue("\(error)".contains(part), "\(error)") }
    for exitReport in [ExitReport(error), ExitReport(cause)] {
      XCTAssertEqual(exitReport.status, .noKey)
      for part in ["anna", "a key work of 9", "--key-work"] { XCTAssertTrue(exitReport.message.contains(part), exitReport.message) }
    }
  }

  func testHelpListsEveryExitStatus() throws {
    let fixture = try ToolFixture()
    let help = try fixture.run(["--help"], passphrase: nil).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard let range = help.range(of: "Exit status: ") else { return XCTFail(help) }
    let reported = help[range.upperBound...]
    for status in ExitStatus.allCases { XCTAssertTrue(" \(reported)".contains(" \(status.rawValue) "), "\(status)") }
  }

  func testMessagesAreOneLineWithoutControlCharacters() {
    let exitReport = ExitReport(ToolError(.badData, "first\nsecond\u{1B}[31m"))
    XCTAssertEqual(exitReport.message, "first; second\u{FFFD}[31m")
    XCTAssertEqual(ExitReport(InputError(line: 7, entity: "Package", key: "size", "no number")).message, "line 7: Package.size: no number")
  }
}
