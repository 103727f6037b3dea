import StoreKeys
import SyncCore
import XCTest

@testable import SyncCrypto

final class AccountTests: XCTestCase {
  private func bundle(zones: Int = 2) throws -> AccountBundle {
    try .random(
      zones: (0..<zones).map { number in
        var keys = try ZoneKeys.random(zone: ZoneID(high: 1, low: UInt64(number)))
        for _ in 0..<number { try keys.addEpoch() }
        return keys
      }, created: 1_800_000_000_000)
  }

  // MARK: Recovery key

  func testARecoveryKeyIsParsedFromItsText() throws {
    for _ in 0..<50 {
      let key = try AccountRecoveryKey.random()
      let text = try key.text()
      XCTAssertEqual(text.count, 71)
      XCTAssertEqual(try AccountRecoveryKey(parsing: text), key)
      XCTAssertEqual(try AccountRecoveryKey(parsing: SecretBytes(text.utf8)), key)
      let typed = text.lowercased().replacingOccurrences(of: "-", with: " - ").replacingOccurrences(of: "0", with: "o")
      XCTAssertEqual(try AccountRecoveryKey(parsing: " " + typed.replacingOccurrences(of: "1", with: "l") + "\n"), key)
      XCTAssertEqual(try AccountRecoveryKey(parsing: text.replacingOccurrences(of: "1", with: "I")), key)
    }
  }

  func testAnyWrongCharacterIsReportedWithItsGroup() throws {
    let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    let text = Array(try AccountRecoveryKey.random().text())
    for index in text.indices where text[index] != "-" {
      for character in alphabet where character != text[index] {
        var changed = text
        changed[index] = character
        assertMalformed(String(changed), .group(index / 9 + 1))
      }
    }
  }

  func testSwappedNeighborsAndGroupsAreDetected() throws {
    for _ in 0..<50 {
      let text = try AccountRecoveryKey.random().text()
      let characters = Array(text.filter { $0 != "-" })
      for index in characters.indices.dropLast() where characters[index] != characters[index + 1] {
        var changed = characters
        changed.swapAt(index, index + 1)
        assertMalformed(String(changed), .group(index / 8 + 1))
      }
      var groups = text.split(separator: "-")
      groups.swapAt(2, 5)
      assertMalformed(groups.joined(separator: "-"), .group(3))
    }
  }

  func testOtherTextsAreNotRecoveryKeys() throws {
    let text = try AccountRecoveryKey.random().text()
    assertMalformed("", .length(0, expected: 64))
    assertMalformed(text + "0", .length(65, expected: 64))
    assertMalformed(String(text.dropLast()), .length(63, expected: 64))
    assertMalformed("U" + text.dropFirst(), .character)
    assertMalformed("é" + text.dropFirst(), .character)
  }

  func testTheKeysOfAnAccountFollowFromTheRecoveryKey() throws {
    let recoveryKey = try AccountRecoveryKey.random()
    let keys = try AccountKeys(recoveryKey)
    XCTAssertEqual(try AccountKeys(AccountRecoveryKey(parsing: recoveryKey.text())), keys)
    let other = try AccountKeys(.random())
    XCTAssertNotEqual(keys.id, other.id)
    XCTAssertNotEqual(keys.hubKey, other.hubKey)
    XCTAssertNotEqual(keys.bundleKey, other.bundleKey)
    XCTAssertNotEqual(keys.bundleKey, keys.hubKey)
    XCTAssertEqual(try AccountKeys(decoding: keys.encoded()), keys)
    XCTAssertTrue("\(recoveryKey)".contains("redacted"))
  }

  func testDamagedAccountKeysAreRefused() throws {
    let bytes = try AccountKeys(.random()).encoded().bytes
    XCTAssertThrowsError(try AccountKeys(decoding: SecretBytes([]))) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.accountKeys)) }
    XCTAssertThrowsError(try AccountKeys(decoding: SecretBytes(bytes.dropLast()))) {
      XCTAssertEqual($0 as? SyncCryptoError, .damaged(.accountKeys))
    }
    XCTAssertThrowsError(try AccountKeys(decoding: SecretBytes([7] + bytes.dropFirst()))) {
      XCTAssertEqual($0 as? SyncCryptoError, .unsupportedFormat(.accountKeys, 7))
    }
  }

  // MARK: Bundle

  func testABundleIsOpenedAsItWasSealed() throws {
    let keys = try AccountKeys(.random())
    for zones in [0, 1, 2, 40] {
      var bundle = try bundle(zones: zones)
      bundle.generation = UInt64(zones) << 40
      let sealed = try bundle.sealed(with: keys)
      XCTAssertEqual(try AccountBundle(opening: sealed, with: keys), bundle)
      XCTAssertNotEqual(try bundle.sealed(with: keys), sealed)
    }
  }

  func testABundleHasTheKeysOfItsZones() throws {
    let bundle = try bundle()
    XCTAssertEqual(try bundle.keys(of: ZoneID(high: 1, low: 1)), bundle.zones[1])
    let unknown = ZoneID(high: 9, low: 9)
    XCTAssertThrowsError(try bundle.keys(of: unknown)) { XCTAssertEqual($0 as? SyncCryptoError, .unknownZone(unknown)) }
  }

  func testTheBundleOfAnotherAccountIsRefused() throws {
    let sealed = try bundle().sealed(with: AccountKeys(.random()))
    XCTAssertThrowsError(try AccountBundle(opening: sealed, with: AccountKeys(.random()))) {
      XCTAssertEqual($0 as? SyncCryptoError, .wrongRecoveryKey)
    }
  }

  func testEachChangedByteOfABundleIsDetected() throws {
    let keys = try AccountKeys(.random())
    let sealed = try bundle().sealed(with: keys)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 4
      XCTAssertThrowsError(try AccountBundle(opening: changed, with: keys), "byte \(index)") { error in
        let expected: SyncCryptoError =
          switch index {
          case 0: .unsupportedFormat(.bundle, 5)
          case 1: .unsupportedSuite(.bundle, 5)
          case 2..<18: .wrongRecoveryKey
          default: .damaged(.bundle)
          }
        XCTAssertEqual(error as? SyncCryptoError, expected, "byte \(index)")
      }
    }
    for count in sealed.indices {
      XCTAssertThrowsError(try AccountBundle(opening: Array(sealed.prefix(count)), with: keys)) {
        XCTAssertEqual($0 as? SyncCryptoError, .damaged(.bundle))
      }
    }
    XCTAssertThrowsError(try AccountBundle(opening: sealed + [0], with: keys))
  }

  func testADamagedEncodingOfABundleIsDecodedOrRefusedWithAnError() throws {
    var random = FixedGenerator(44)
    let bytes = try bundle().encoded().bytes
    XCTAssertNoThrow(try AccountBundle(decoding: SecretBytes(bytes)))
    XCTAssertThrowsError(try AccountBundle(decoding: SecretBytes(bytes + [0]))) {
      XCTAssertEqual($0 as? SyncCryptoError, .damaged(.bundle))
    }
    for _ in 0..<3_000 {
      var changed = bytes
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        let index = Int.random(in: 0..<min(changed.count, 60), using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: changed[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: changed.removeLast(Int.random(in: 1..<40, using: &random))
        default: changed.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        }
      }
      do { _ = try AccountBundle(decoding: SecretBytes(changed)) } catch { XCTAssertTrue(error is SyncCryptoError, "\(error)") }
    }
  }

  func testNoSecretIsInASealedBundle() throws {
    let bundle = try bundle()
    let sealed = try bundle.sealed(with: AccountKeys(.random()))
    for secret in [bundle.signingKey.seed] + bundle.zones.flatMap(\.epochs) {
      XCTAssertNil(sealed.indices.first { sealed[$0...].starts(with: secret.bytes.prefix(8)) })
    }
  }

  // MARK: -

  private func assertMalformed(_ text: String, _ expected: SyncCryptoError.MalformedRecoveryKey, line: UInt = #line) {
    XCTAssertThrowsError(try AccountRecoveryKey(parsing: text), line: line) {
      XCTAssertEqual($0 as? SyncCryptoError, .malformedRecoveryKey(expected), line: line)
    }
  }
}
