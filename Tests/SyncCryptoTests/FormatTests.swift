import StoreKeys
import SyncCore
import XCTest

@testable import SyncCrypto

/// The formats of sealed content, which other versions must be able to read. The expected values were computed by another program, with
/// Python's cryptography package.
final class FormatTests: XCTestCase {
  func testTheNameBodyAndVersionOfASealedRecord() throws {
    let zone = ZoneID(high: 1, low: 2)
    let cipher = try RecordCipher(ZoneKeys(zone: zone, epochs: [SecretBytes(0..<32), SecretBytes(32..<64)]))
    let name = try cipher.name(of: RecordID(high: 5, low: 6))
    XCTAssertEqual(name.digest.bytes, hex("e67bba7b4865d0b90624eaa855f309ebbd3b90dedbcc76583ffd69c108a6b4f8"))

    let header = RecordHeader(
      commit: RecordHeader.CommitID(
        epoch: 2, device: DeviceID(7), deviceSequence: 3,
        batch: RecordHeader.BatchID(high: 0x1111_1111_1111_1111, low: 0x2222_2222_2222_2222)), index: 5,
      replacedVersion: Digest(1, 2, 3, 4))
    let keys = try ZoneKeys(zone: zone, epochs: [SecretBytes(0..<32), SecretBytes(32..<64)])
    let sealed = try cipher.seal(
      Array("A known plaintext of 33 character".utf8), as: name, isDeleted: true, header,
      with: GCMCipher(key: keys.contentKey(of: header.commit), .seal))
    let expectedHeader = """
      010101 02000000 0700000000000000 0300000000000000 1111111111111111 2222222222222222 05000000
      0100000000000000 0200000000000000 0300000000000000 0400000000000000
      """
    XCTAssertEqual(Array(sealed.body.prefix(75)), hex(expectedHeader))
    XCTAssertEqual(
      Array(sealed.body.dropFirst(75)),
      hex("9e621e0266cec274d9f355f462c7ee616ad047b95bd3629248e004f0dab42f41fec508a7bb62b81c1cf50769c293286166259a30"))
    XCTAssertEqual(sealed.version.bytes, hex("ebdf488ca0ee363df0ee647161c842daa2f55f58e939ea107eff7c8a53db4dc8"))
    XCTAssertEqual(sealed.replacedVersion, Digest(1, 2, 3, 4))
  }

  func testTheKeysOfAnAccount() throws {
    let recoveryKey = try AccountRecoveryKey(parsing: RecoveryKey.text(for: SecretBytes(100..<132)))
    let keys = try AccountKeys(recoveryKey)
    XCTAssertEqual(Digest(keys.id.high, keys.id.low, 0, 0).bytes.prefix(16), hex("01cf1e78b66a57db2b155c3183d91305")[...])
    XCTAssertEqual(keys.hubKey.bytes, hex("a0440088ee05728ba0c3a37d1053327af485223b6d1acc3f3c083a1e1ea55cc4"))
    XCTAssertEqual(keys.bundleKey.bytes, hex("78525e9b10a27aa947d5d97c8603228f9f4f6e4451449fe0971f8bbf6629fdaf"))
  }

  func testASealedBundle() throws {
    let recoveryKey = try AccountRecoveryKey(parsing: RecoveryKey.text(for: SecretBytes(100..<132)))
    let sealed = hex(
      """
      010101cf1e78b66a57db2b155c3183d913052c01000000000000000102030405060708090a0b70981a80929cf3ca82afedbd73c269e9c2c8
      8e86b11b4c64905c68d6fbe4ab52f4bd56302c4c8f7369ae278ac560b3b1843fdf9caaef5a5551ee57891759f5ac079506beff09aed339e3
      8c3b987b1e3ace2dec7c0e1a4a87ff80fc61a129c755c13f88db18602596afd5695b3048d403e39355e2424e970bb90a231652ce93cf53d9
      489bf3f7c50e8ac7f0514b4fed
      """)
    let zone = try ZoneKeys(zone: ZoneID(high: 1, low: 2), epochs: [SecretBytes(0..<32), SecretBytes(32..<64)])
    let expected = AccountBundle(
      generation: 300, signingKey: try SigningKey(seed: SecretBytes(64..<96)), zones: [zone], created: 1_800_000_000_000)
    XCTAssertEqual(try AccountBundle(opening: sealed, with: AccountKeys(recoveryKey)), expected)
  }

  func testTheDigestAndTheSignatureOfACommit() throws {
    func digest(_ word: UInt64) -> Digest { Digest(word, word, word, word) }
    let header = Commit(
      device: DeviceID(7), deviceSequence: 3, base: ChainPoint(sequence: 2, head: Digest(1, 2, 3, 4)),
      accepted: ChainPoint(sequence: 4, head: Digest(5, 6, 7, 8)), incarnation: Incarnation(9), time: HybridTime(value: 1_000), changes: [])
    let records = [
      SealedRecord(name: RecordName(digest(1)), replacedVersion: nil, version: digest(2), isDeleted: false, body: []),
      SealedRecord(name: RecordName(digest(3)), replacedVersion: digest(4), version: digest(5), isDeleted: true, body: [1]),
    ]
    let hashing = ZoneHashing(zone: ZoneID(high: 1, low: 2))
    let result = try hashing.digest(of: SealedCommit(header, records: records, digest: .zero))
    XCTAssertEqual(result.bytes, hex("356c19e79c4113ca3addf128e6c6ca64bd7a64c81074a1c50af8f6050dd376f6"))
    let signed = hashing.signedBytes(device: DeviceID(7), deviceSequence: 3, digest: result)
    let expected = hex(
      """
      a38402002fb8bec8552684751a162889934998bd20bea1c26d99f18ccfb486797ec70e9ac2f733107abddf843a09ea27f90e19d91313f47b
      0f4c587102085b09
      """)
    XCTAssertEqual(try SigningKey(seed: SecretBytes(0..<32)).signature(of: signed), expected)
  }
}
