import CipherDataToolKit
import Foundation
import StoreKeys
import XCTest

/// Passphrases from files and from the environment.
final class PassphraseSourceTests: XCTestCase {
  private let variable = "CIPHERDATA_TEST_PASSPHRASE"

  func testTheFirstLineOfAFileIsThePassphrase() throws {
    let folder = try TemporaryFolder()
    for text in ["secret words\nmore\n", "secret words", "secret words\r\n"] {
      let file = try folder.file("passphrase", text)
      XCTAssertEqual(try PassphraseSource(file: file.path).read(), SecretBytes(utf8: "secret words"))
    }
  }

  func testEmptyPassphraseFilesAreKeyErrorsAndMissingOnesInputErrors() throws {
    let folder = try TemporaryFolder()
    let empty = try folder.file("empty", "\n")
    XCTAssertThrowsError(try PassphraseSource(file: empty.path).read()) { XCTAssertEqual(ExitReport($0).status, .noKey) }
    XCTAssertThrowsError(try PassphraseSource(file: folder.url.path + "/none").read()) { XCTAssertEqual(ExitReport($0).status, .noInput) }
  }

  func testPassphraseVariableIsRemovedFromTheEnvironment() throws {
    setenv(variable, "from the environment", 1)
    XCTAssertEqual(try PassphraseSource(file: nil, variable: variable).read(), SecretBytes(utf8: "from the environment"))
    XCTAssertNil(getenv(variable))
  }

  func testComposedAndDecomposedLettersAreOnePassphrase() throws {
    let folder = try TemporaryFolder()
    let composed = try folder.file("a", "caf\u{E9}\n")
    let decomposed = try folder.file("b", "cafe\u{301}\n")
    XCTAssertEqual(try PassphraseSource(file: composed.path).read(), try PassphraseSource(file: decomposed.path).read())
  }

  func testLongPassphraseFilesAreRejected() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("long", String(repeating: "a", count: 5000))
    XCTAssertThrowsError(try PassphraseSource(file: file.path).read()) { XCTAssertEqual(ExitReport($0).status, .noKey) }
  }
}
