import XCTest

@testable import SyncCrypto

/// The names of devices, which hubs cannot read.
final class DeviceNameTests: XCTestCase {
  func testNamesAreSealedAndOpened() throws {
    let keys = try AccountKeys(.random())
    for name in ["", "laptop", "Zoë’s 📱", String(repeating: "x", count: 100)] {
      let sealed = try keys.sealedName(name)
      XCTAssertEqual(try keys.name(ofSealed: sealed), name)
      XCTAssertNotEqual(sealed, try keys.sealedName(name))
    }
  }

  func testNamesOfOneLengthClassCannotBeDistinguished() throws {
    let keys = try AccountKeys(.random())
    XCTAssertEqual(try keys.sealedName("a").count, try keys.sealedName("a longer name").count)
  }

  func testNamesOfOtherAccountsAndChangedOnesAreRefused() throws {
    let keys = try AccountKeys(.random())
    let sealed = try keys.sealedName("laptop")
    XCTAssertThrowsError(try AccountKeys(.random()).name(ofSealed: sealed))
    for text in ["", "laptop", String(sealed.dropLast()), String(sealed.dropLast(2)), "00" + sealed.dropFirst(2), "é" + sealed]
    where text != sealed {
      XCTAssertThrowsError(try keys.name(ofSealed: text), text)
    }
  }
}
