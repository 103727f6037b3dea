import StoreKeys
import SyncCore
import XCTest

@testable import SyncCrypto

final class DeviceTests: XCTestCase {
  private let account = AccountID(high: 1, low: 2)
  private let zone = ZoneID(high: 3, low: 4)

  /// Returns a chain of certificates of devices 0, 1 and so on.
  private func chain(_ signer: SigningKey, count: Int) throws -> DeviceChain {
    var chain = DeviceChain(account: account, accountKey: signer.publicKey)
    for number in 0..<count {
      try chain.append(
        try chain.certificate(
          for: DeviceID(UInt64(number)), DeviceKeys.random().publicKeys, name: "Device \(number)", created: Int64(number),
          signedBy: signer))
    }
    return chain
  }

  // MARK: Keys

  func testTheKeysOfADeviceAreDecodedAsTheyWereEncoded() throws {
    let keys = try DeviceKeys.random()
    let bytes = keys.encoded()
    XCTAssertEqual(try DeviceKeys(decoding: bytes), keys)
    XCTAssertEqual(try DeviceKeys(decoding: bytes).publicKeys, keys.publicKeys)
    XCTAssertNotEqual(try DeviceKeys.random(), keys)
    XCTAssertThrowsError(try DeviceKeys(decoding: SecretBytes([]))) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.deviceKeys)) }
    XCTAssertThrowsError(try DeviceKeys(decoding: bytes.slice(0..<64))) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.deviceKeys)) }
    XCTAssertThrowsError(try DeviceKeys(decoding: SecretBytes([3] + bytes.bytes.dropFirst()))) {
      XCTAssertEqual($0 as? SyncCryptoError, .unsupportedFormat(.deviceKeys, 3))
    }
  }

  // MARK: Certificates

  func testCertificatesAreDecodedAsTheyWereEncoded() throws {
    for certificate in try chain(.random(), count: 3).certificates {
      XCTAssertEqual(try DeviceCertificate(decoding: certificate.encoded()), certificate)
    }
  }

  func testEachChangedByteOfACertificateIsDetected() throws {
    let signer = try SigningKey.random()
    let chain = try chain(signer, count: 2)
    let bytes = chain.certificates[1].encoded()
    for index in bytes.indices {
      for bit: UInt8 in [1, 0x40, 0x80] {
        var changed = bytes
        changed[index] ^= bit
        var shorter = try self.chain(chain, until: 1)
        XCTAssertThrowsError(try shorter.append(DeviceCertificate(decoding: changed)), "byte \(index)") {
          XCTAssertTrue($0 is SyncCryptoError, "\($0)")
        }
      }
    }
    for count in bytes.indices { XCTAssertThrowsError(try DeviceCertificate(decoding: Array(bytes.prefix(count)))) }
    XCTAssertThrowsError(try DeviceCertificate(decoding: bytes + [0])) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.certificate)) }
    XCTAssertThrowsError(try DeviceCertificate(decoding: [9] + bytes.dropFirst())) {
      XCTAssertEqual($0 as? SyncCryptoError, .unsupportedFormat(.certificate, 9))
    }
  }

  func testOtherEncodingsOfACertificateAreRefused() throws {
    let bytes = try chain(.random(), count: 1).certificates[0].encoded()
    // The format 1 in two bytes.
    XCTAssertThrowsError(try DeviceCertificate(decoding: [0x81, 0] + bytes.dropFirst())) {
      XCTAssertEqual($0 as? SyncCryptoError, .damaged(.certificate))
    }
  }

  func testAChainIsVerified() throws {
    let signer = try SigningKey.random()
    let chain = try chain(signer, count: 4)
    let verified = try DeviceChain(
      account: account, accountKey: signer.publicKey, verifying: chain.certificates, containing: try self.chain(chain, until: 2).head)
    XCTAssertEqual(verified, chain)
    XCTAssertEqual(verified[DeviceID(2)]?.name, "Device 2")
    XCTAssertNil(verified[DeviceID(4)])
    XCTAssertEqual(verified.head.count, 4)
  }

  func testADroppedReorderedOrRepeatedCertificateBreaksTheChain() throws {
    let signer = try SigningKey.random()
    let certificates = try chain(signer, count: 4).certificates
    func assertBroken(_ certificates: [DeviceCertificate], at position: Int, line: UInt = #line) {
      XCTAssertThrowsError(
        try DeviceChain(account: account, accountKey: signer.publicKey, verifying: certificates, containing: DeviceChain.Head()), line: line
      ) { XCTAssertEqual($0 as? SyncCryptoError, .brokenCertificateChain(position), line: line) }
    }
    assertBroken(Array(certificates.dropFirst()), at: 0)
    assertBroken([certificates[0], certificates[2]], at: 1)
    assertBroken([certificates[0], certificates[1], certificates[3]], at: 2)
    assertBroken([certificates[0], certificates[2], certificates[1]], at: 1)
    assertBroken(certificates + [certificates[3]], at: 4)
    // A certificate of another chain of the same account, at the right position.
    assertBroken([certificates[0], try chain(signer, count: 2).certificates[1]], at: 1)
  }

  func testAShorterOrOtherChainThanTheKnownOneIsRefused() throws {
    let signer = try SigningKey.random()
    let (known, other) = (try chain(signer, count: 3), try chain(signer, count: 5))
    for certificates in [Array(known.certificates.dropLast()), other.certificates, []] {
      XCTAssertThrowsError(
        try DeviceChain(account: account, accountKey: signer.publicKey, verifying: certificates, containing: known.head)
      ) { XCTAssertEqual($0 as? SyncCryptoError, .brokenCertificateChain(certificates.count)) }
    }
  }

  func testACertificateByAnotherAccountIsRefused() throws {
    let (signer, other) = (try SigningKey.random(), try SigningKey.random())
    var chain = try chain(signer, count: 1)
    let keys = try DeviceKeys.random().publicKeys
    let forged = try chain.certificate(for: DeviceID(9), keys, name: "", created: 0, signedBy: other)
    XCTAssertThrowsError(try chain.append(forged)) { XCTAssertEqual($0 as? SyncCryptoError, .invalidSignature(.certificate)) }
    let foreign = try DeviceCertificate(
      DeviceID(9), keys, name: "", created: 0, account: AccountID(high: 1, low: 3), position: 1, previous: chain.head.digest,
      signedBy: signer)
    XCTAssertThrowsError(try chain.append(foreign)) { XCTAssertEqual($0 as? SyncCryptoError, .brokenCertificateChain(1)) }
    let later = try DeviceCertificate(
      DeviceID(9), keys, name: "", created: 0, account: account, position: 2, previous: chain.head.digest, signedBy: signer)
    XCTAssertThrowsError(try chain.append(later)) { XCTAssertEqual($0 as? SyncCryptoError, .brokenCertificateChain(1)) }
    let repeated = try chain.certificate(for: DeviceID(0), keys, name: "", created: 0, signedBy: signer)
    XCTAssertThrowsError(try chain.append(repeated)) { XCTAssertEqual($0 as? SyncCryptoError, .brokenCertificateChain(1)) }
  }

  // MARK: Commits

  func testCommitsAreVerifiedByTheCertificateOfTheirDevice() throws {
    let (commit, chain) = try signedCommit()
    let verifier = CommitVerifier(zone: zone, devices: chain)
    XCTAssertNoThrow(try verifier.verify(commit))
    XCTAssertNoThrow(try verifier.verify(entry(commit)))
    XCTAssertNoThrow(try verifier.verify(CommitCoding.decode(CommitCoding.encode(commit))))
  }

  func testAChangedEntryIsDetected() throws {
    let (commit, chain) = try signedCommit()
    let verifier = CommitVerifier(zone: zone, devices: chain)
    let changes: [(inout CommitEntry) -> Void] = [
      { $0.device = DeviceID(1) }, { $0.deviceSequence += 1 }, { $0.digest = .zero },
      { $0.signature = $0.signature.map { $0 ^ 1 } }, { $0.signature = [] },
    ]
    for change in changes {
      var changed = entry(commit)
      change(&changed)
      XCTAssertThrowsError(try verifier.verify(changed)) { XCTAssertEqual($0 as? SyncCryptoError, .invalidSignature(.commit)) }
    }
    var unknown = entry(commit)
    unknown.device = DeviceID(77)
    XCTAssertThrowsError(try verifier.verify(unknown)) { XCTAssertEqual($0 as? SyncCryptoError, .unknownDevice(DeviceID(77))) }
    XCTAssertThrowsError(try CommitVerifier(zone: ZoneID(high: 3, low: 5), devices: chain).verify(entry(commit))) {
      XCTAssertEqual($0 as? SyncCryptoError, .invalidSignature(.commit))
    }
  }

  func testEachChangedByteOfACommitIsDetected() throws {
    let (commit, chain) = try signedCommit()
    let verifier = CommitVerifier(zone: zone, devices: chain)
    let bytes = CommitCoding.encode(commit)
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      do {
        let decoded = try CommitCoding.decode(changed)
        // The bodies and what a hub stores with them are verified when records are opened.
        if decoded.records.map(\.version) == commit.records.map(\.version), decoded.digest == commit.digest,
          decoded.records.map(\.body) != commit.records.map(\.body)
            || decoded.records.map(\.isDeleted) != commit.records.map(\.isDeleted)
        {
          continue
        }
        XCTAssertThrowsError(try verifier.verify(decoded), "byte \(index)") { XCTAssertTrue($0 is SyncCryptoError) }
      } catch {
        XCTAssertTrue(error is WireError, "\(error)")
      }
    }
  }

  // MARK: -

  private func signedCommit() throws -> (SealedCommit, DeviceChain) {
    let (signer, keys) = (try SigningKey.random(), try DeviceKeys.random())
    var chain = try chain(signer, count: 2)
    try chain.append(try chain.certificate(for: DeviceID(5), keys.publicKeys, name: "Five", created: 0, signedBy: signer))
    let sealing = try ZoneSealing(.random(zone: zone), signedBy: keys.signing)
    let changes = (0..<3).map { number in
      RecordChange(
        RecordID(high: 0, low: number), replacing: nil,
        Record(entity: EntityID(1), [PropertyID(1): .text("Milk")], Stamp(HybridTime(value: 1), DeviceID(5))))
    }
    let commit = Commit(
      device: DeviceID(5), deviceSequence: 3, base: ChainPoint(), accepted: ChainPoint(sequence: 1, head: Digest(1, 2, 3, 4)),
      incarnation: Incarnation(1), time: HybridTime(value: 9), changes: changes)
    return (try sealing.seal(commit), chain)
  }

  private func entry(_ commit: SealedCommit) -> CommitEntry {
    CommitEntry(
      sequence: 8, device: commit.device, deviceSequence: commit.deviceSequence, digest: commit.digest, signature: commit.signature)
  }

  private func chain(_ chain: DeviceChain, until count: Int) throws -> DeviceChain {
    try DeviceChain(
      account: chain.account, accountKey: chain.accountKey, verifying: Array(chain.certificates.prefix(count)),
      containing: DeviceChain.Head())
  }
}
