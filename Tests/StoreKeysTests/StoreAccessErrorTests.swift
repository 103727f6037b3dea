import StoreKeys
import XCTest

/// The messages of key and file errors, which depend on their kind and further details.
final class StoreAccessErrorTests: XCTestCase {
  func testMessagesContainTheNumbersOfTheCause() {
    func text(_ kind: StoreAccessError.Kind) -> String { StoreAccessError(kind, path: nil, operation: .open).explanation }
    XCTAssertEqual(text(.keyFileCorrupt(.size(7))), "the key file is damaged (its size is 7 bytes); restore it from a backup")
    XCTAssertEqual(
      text(.invalidKey(.parameters(.scryptWork(3, allowed: 10...20)))), "the key cannot be used: scrypt's log2N is 3 and must be 10 to 20")
    XCTAssertEqual(
      text(.unsupportedFormat(.keyFile(version: 9, known: 2))),
      "the store's format is not supported: key file version 9; this library supports 2")
    XCTAssertEqual(text(.misuse(.noStatement)), "the text holds no statement")
  }

  func testCircumstancesReplaceTheMessageOfTheKind() {
    let busy = StoreAccessError(.busy, path: "/a", operation: .changeKeys, circumstance: .keyFileEdited)
    XCTAssertEqual("\(busy)", "change keys: another process is editing the key file, or left this file behind [/a]")
    XCTAssertEqual(busy.with(kind: .busy, path: "/b").circumstance, .keyFileEdited)
    XCTAssertNil(busy.with(kind: .readOnly).circumstance, "another kind speaks for itself")
  }
}
