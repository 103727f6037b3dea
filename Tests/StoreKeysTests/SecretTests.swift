import StoreKeys
import XCTest

/// Keys are never printed, and all their bytes are compared.
final class SecretTests: XCTestCase {
  func testKeysAreNotPrinted() throws {
    let secret = SecretBytes(utf8: "MARKER-PASSPHRASE")
    for text in [
      "\(secret)", String(reflecting: secret), "\(StoreKey.passphrase(secret))", String(reflecting: StoreKey.raw(secret)),
      "\(try DatabaseKey.random())",
    ] {
      XCTAssertFalse(text.contains("MARKER"), text)
    }
    var dumped = ""
    dump(StoreKey.passphrase(secret), to: &dumped)
    dump(secret, to: &dumped)
    XCTAssertFalse(dumped.contains("MARKER"))
    XCTAssertFalse(dumped.contains("77"), dumped)
  }

  func testSecretsAreComparedByBytes() {
    XCTAssertEqual(SecretBytes([1, 2, 3]), SecretBytes([1, 2, 3]))
    XCTAssertNotEqual(SecretBytes([1, 2, 3]), SecretBytes([1, 2, 4]))
    XCTAssertNotEqual(SecretBytes([1, 2, 3]), SecretBytes([1, 2]))
    XCTAssertEqual(SecretBytes([]), SecretBytes(utf8: ""))
  }
}
