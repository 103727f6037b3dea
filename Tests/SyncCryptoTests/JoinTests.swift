import StoreKeys
import SyncCore
import XCTest

@testable import SyncCrypto

final class JoinTests: XCTestCase {
  private struct Account {
    let keys: AccountKeys
    let bundle: AccountBundle
    let chain = DeviceChain.Head(count: 3, digest: Digest(1, 2, 3, 4))

    init() throws {
      keys = try AccountKeys(.random())
      bundle = try .random(zones: [.random(zone: ZoneID(high: 1, low: 2))], created: 5)
    }

    func approvingDevice(at time: Int64 = 5_000_000) throws -> ApprovingDevice {
      ApprovingDevice(account: keys, bundle: bundle, chain: chain, at: time)
    }
  }

  private func newDevice(_ name: String = "Phone") throws -> JoiningDevice {
    try JoiningDevice(device: DeviceID(9), keys: .random(), name: name)
  }

  /// Exchanges the messages up to the codes, each encoded.
  ///
  /// - Returns: What a hub between the devices knows.
  @discardableResult private func exchange(_ new: inout JoiningDevice, _ existing: inout ApprovingDevice) throws -> JoinTranscript {
    let challenge = try XCTUnwrap(existing.receive(JoinMessage(decoding: new.firstMessage.encoded())))
    let reveal = try XCTUnwrap(new.receive(JoinMessage(decoding: challenge.encoded())))
    XCTAssertNil(try existing.receive(JoinMessage(decoding: reveal.encoded())))
    guard case .commitment(let commitment) = new.firstMessage, case .challenge(let content) = challenge else {
      throw SyncCryptoError.unexpectedJoinMessage
    }
    return try JoinTranscript(commitment, content, new.request)
  }

  func testANewDeviceGetsTheAccountAfterBothApprovals() throws {
    for isApprovedHereFirst in [true, false] {
      let account = try Account()
      var (new, existing) = (try newDevice(), try account.approvingDevice())
      XCTAssertNil(new.code)
      XCTAssertNil(existing.code)
      XCTAssertNil(existing.request)
      try exchange(&new, &existing)
      XCTAssertEqual(existing.request, new.request)
      XCTAssertEqual(existing.request?.name, "Phone")
      XCTAssertNotNil(new.code)
      XCTAssertEqual(new.code, existing.code)
      if isApprovedHereFirst { try new.approve() }
      let grant = try JoinMessage(decoding: try existing.approve().encoded())
      XCTAssertNil(try new.receive(grant))
      if !isApprovedHereFirst {
        XCTAssertNil(new.grant, "the user has not compared the codes")
        try new.approve()
      }
      XCTAssertEqual(new.grant, JoinGrant(account: account.keys, bundle: account.bundle, chain: account.chain))
    }
  }

  func testACodeHasSixDigits() {
    XCTAssertEqual(JoinCode(number: 0).description, "000 000")
    XCTAssertEqual(JoinCode(number: 42_917).description, "042 917")
    XCTAssertEqual(JoinCode(number: 999_999).description, "999 999")
  }

  func testCodesAreSpread() throws {
    let account = try Account()
    var codes: Set<JoinCode> = []
    for _ in 0..<200 {
      var (new, existing) = (try newDevice(), try account.approvingDevice())
      try exchange(&new, &existing)
      if let code = new.code { codes.insert(code) }
    }
    // 200 random codes contain more than 5 repetitions with a probability below 1 in 1,000,000,000,000.
    XCTAssertGreaterThanOrEqual(codes.count, 195)
  }

  // MARK: A hub between the devices

  func testAHubWithAJoinOfItsOwnOnEachSideShowsTwoCodes() throws {
    let (account, other) = (try Account(), try Account())
    var differing = 0
    for _ in 0..<20 {
      var (new, existing) = (try newDevice(), try account.approvingDevice())
      var (hubAsNew, hubAsExisting) = (try newDevice(), try other.approvingDevice())
      try exchange(&new, &hubAsExisting)
      try exchange(&hubAsNew, &existing)
      if new.code != existing.code { differing += 1 }
    }
    XCTAssertGreaterThanOrEqual(differing, 19)
  }

  func testARequestOtherThanTheCommittedOneIsRefused() throws {
    let account = try Account()
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    let challenge = try XCTUnwrap(existing.receive(new.firstMessage))
    guard case .challenge(let content) = challenge, case .reveal(let commitment, let sealed) = try new.receive(challenge) else {
      return XCTFail("no request")
    }
    let request = new.request
    let blinding = [UInt8](repeating: 0, count: 32)
    func reveal(_ request: JoinRequest) throws -> JoinMessage {
      let reveal = JoinReveal(request: request, blinding: blinding)
      return .reveal(commitment, try HPKE.seal(reveal.encoded(), to: content.requestKey, JoinReveal.purpose(of: commitment)))
    }
    let others = [
      JoinRequest(device: DeviceID(8), keys: request.keys, ephemeralKey: request.ephemeralKey, name: request.name),
      JoinRequest(device: request.device, keys: try DeviceKeys.random().publicKeys, ephemeralKey: request.ephemeralKey, name: request.name),
      JoinRequest(device: request.device, keys: request.keys, ephemeralKey: try AgreementKey.random().publicKey, name: request.name),
      JoinRequest(device: request.device, keys: request.keys, ephemeralKey: request.ephemeralKey, name: "Tablet"),
    ]
    // The last one has other random bytes than the commitment.
    for other in others + [request] {
      var existing = existing
      XCTAssertThrowsError(try existing.receive(reveal(other))) { XCTAssertEqual($0 as? SyncCryptoError, .wrongCommitment) }
      XCTAssertThrowsError(try existing.receive(.reveal(commitment, sealed)), "there is no second attempt") {
        XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage)
      }
    }
    var waiting = try account.approvingDevice()
    _ = try waiting.receive(.commitment(.max))
    XCTAssertThrowsError(try waiting.receive(.reveal(commitment, sealed))) { XCTAssertEqual($0 as? SyncCryptoError, .wrongCommitment) }
    XCTAssertNil(try existing.receive(.reveal(commitment, sealed)))
    XCTAssertEqual(existing.request, request)
  }

  func testAnyDeviceOfTheAccountContinuesAJoin() throws {
    let account = try Account()
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    let challenge = try XCTUnwrap(existing.receive(new.firstMessage))
    var other = try account.approvingDevice()
    XCTAssertEqual(try other.receive(new.firstMessage), challenge)
    let reveal = try XCTUnwrap(new.receive(challenge))
    try new.approve()
    // A process that knows the last message only, up to 10 minutes later at least.
    var continued = try ApprovingDevice(
      account: account.keys, bundle: account.bundle, chain: account.chain, at: 5_599_999, continuingWith: reveal)
    XCTAssertEqual(continued.code, new.code)
    XCTAssertEqual(continued.request, new.request)
    XCTAssertNil(try new.receive(continued.approve()))
    XCTAssertEqual(new.grant?.account, account.keys)
    // A hub cannot use an answer for longer.
    XCTAssertThrowsError(
      try ApprovingDevice(account: account.keys, bundle: account.bundle, chain: account.chain, at: 6_200_000, continuingWith: reveal)
    ) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage)) }
  }

  func testTheAnswerToACommitmentDependsOnTheAccountAndTheTime() throws {
    let (account, other, commitment) = (try Account(), try Account(), try newDevice().firstMessage)
    var (one, later, foreign) = (
      try account.approvingDevice(), try account.approvingDevice(at: 5_600_000), try other.approvingDevice()
    )
    var nonces: Set<[UInt8]> = []
    for message in [try one.receive(commitment), try later.receive(commitment), try foreign.receive(commitment)] {
      guard case .challenge(let challenge) = message else { return XCTFail("no challenge") }
      nonces.formUnion([challenge.nonce, challenge.requestKey])
    }
    var next = try account.approvingDevice()
    guard case .challenge(let challenge) = try next.receive(try newDevice().firstMessage) else { return XCTFail("no challenge") }
    XCTAssertEqual(nonces.union([challenge.nonce]).count, 7)
  }

  func testTheCodeDependsOnEachPartOfTheTranscript() throws {
    let account = try Account()
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    guard case .commitment(let commitment) = new.firstMessage, case .challenge(let challenge) = try existing.receive(new.firstMessage)
    else {
      return XCTFail("no challenge")
    }
    let transcript = try JoinTranscript(commitment, challenge, new.request)
    let nonce = challenge.nonce.map { $0 ^ 1 }
    let others = [
      try JoinTranscript(.zero, challenge, new.request), try JoinTranscript(commitment, challenge, try newDevice().request),
    ]
    let challenges = [
      JoinChallenge(nonce: nonce, account: challenge.account, accountKey: challenge.accountKey, requestKey: challenge.requestKey),
      JoinChallenge(
        nonce: challenge.nonce, account: AccountID(high: 0, low: 0), accountKey: challenge.accountKey, requestKey: challenge.requestKey),
      JoinChallenge(
        nonce: challenge.nonce, account: challenge.account, accountKey: try SigningKey.random().publicKey,
        requestKey: challenge.requestKey),
      JoinChallenge(
        nonce: challenge.nonce, account: challenge.account, accountKey: challenge.accountKey,
        requestKey: try AgreementKey.random().publicKey),
    ]
    for other in others + (try challenges.map { try JoinTranscript(commitment, $0, new.request) }) {
      XCTAssertNotEqual(other, transcript)
      XCTAssertNotEqual(other.purpose, transcript.purpose)
    }
    XCTAssertNotNil(try new.receive(.challenge(challenge)))
    XCTAssertEqual(new.code, transcript.code)
  }

  func testAHubCannotGiveTheNewDeviceAnotherAccount() throws {
    let (account, other) = (try Account(), try Account())
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    // The hub knows everything that was sent, and encrypts an account of its own for the new device.
    let transcript = try exchange(&new, &existing)
    try new.approve()
    for grant in [
      JoinGrant(account: other.keys, bundle: other.bundle, chain: other.chain),
      JoinGrant(account: account.keys, bundle: other.bundle, chain: other.chain),
      JoinGrant(account: other.keys, bundle: account.bundle, chain: other.chain),
    ] {
      var new = new
      let message = try HPKE.seal(grant.encoded(), to: new.request.ephemeralKey, transcript.purpose)
      XCTAssertThrowsError(try new.receive(.grant(message))) { XCTAssertEqual($0 as? SyncCryptoError, .wrongAccount) }
      XCTAssertNil(new.grant)
    }
  }

  func testAGrantIsForOneJoinOnly() throws {
    let account = try Account()
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    let transcript = try exchange(&new, &existing)
    try new.approve()
    let grant = JoinGrant(account: account.keys, bundle: account.bundle, chain: account.chain)
    var same = new
    XCTAssertNil(try same.receive(.grant(HPKE.seal(grant.encoded(), to: new.request.ephemeralKey, transcript.purpose))))
    XCTAssertEqual(same.grant, grant)
    // The same account and request, but another nonce.
    let other = try JoinTranscript(
      .zero, JoinChallenge(nonce: [], account: account.keys.id, accountKey: account.bundle.signingKey.publicKey, requestKey: []),
      new.request)
    let message = try HPKE.seal(grant.encoded(), to: new.request.ephemeralKey, other.purpose)
    XCTAssertThrowsError(try new.receive(.grant(message))) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage)) }
  }

  // MARK: Damage and order

  func testEachChangedByteOfAMessageIsDetected() throws {
    let account = try Account()
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    let commitment = new.firstMessage
    let (firstNew, firstExisting) = (new, existing)
    let challenge = try XCTUnwrap(existing.receive(commitment))
    let (secondNew, secondExisting) = (new, existing)
    let reveal = try XCTUnwrap(new.receive(challenge))
    let code = try transcriptCode(&new, &existing, reveal)
    try new.approve()
    let grant = try existing.approve()

    forEachChange(of: commitment) { changed in
      var (new, existing) = (firstNew, firstExisting)
      let challenge = try XCTUnwrap(existing.receive(changed))
      let reveal = try XCTUnwrap(new.receive(challenge))
      XCTAssertThrowsError(try existing.receive(reveal)) { XCTAssertEqual($0 as? SyncCryptoError, .wrongCommitment) }
    }
    var equalCodes = 0
    forEachChange(of: challenge) { changed in
      var new = secondNew
      _ = try new.receive(changed)
      if new.code == code { equalCodes += 1 }
      try new.approve()
      XCTAssertThrowsError(try new.receive(grant)) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage)) }
    }
    XCTAssertLessThanOrEqual(equalCodes, 1, "each code is equal with a probability of 1 in 1,000,000")
    forEachChange(of: reveal) { changed in
      var existing = secondExisting
      XCTAssertThrowsError(try existing.receive(changed)) {
        XCTAssertTrue([.wrongCommitment, .damaged(.joinMessage), .invalidPublicKey].contains($0 as? SyncCryptoError), "\($0)")
      }
      XCTAssertNil(existing.code)
    }
    forEachChange(of: grant) { changed in
      var new = new
      XCTAssertThrowsError(try new.receive(changed)) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage)) }
      XCTAssertNil(new.grant)
    }
  }

  func testDamagedMessagesAreDecodedOrRefusedWithAnError() throws {
    let (new, keys) = (try newDevice(), try AgreementKey.random())
    let messages: [JoinMessage] = [
      new.firstMessage,
      .challenge(
        JoinChallenge(
          nonce: [UInt8](repeating: 1, count: 32), account: AccountID(high: 1, low: 2), accountKey: keys.publicKey,
          requestKey: keys.publicKey)),
      .reveal(Digest(1, 2, 3, 4), try HPKE.seal(SecretBytes([1, 2, 3]), to: keys.publicKey, [])),
      .grant(try HPKE.seal(SecretBytes([1, 2, 3]), to: keys.publicKey, [])), .refusal,
    ]
    for message in messages {
      let bytes = message.encoded()
      XCTAssertEqual(try JoinMessage(decoding: bytes), message)
      for count in bytes.indices {
        XCTAssertThrowsError(try JoinMessage(decoding: Array(bytes.prefix(count)))) {
          XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage))
        }
      }
      XCTAssertThrowsError(try JoinMessage(decoding: bytes + [0])) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage)) }
      XCTAssertThrowsError(try JoinMessage(decoding: [2] + bytes.dropFirst())) {
        XCTAssertEqual($0 as? SyncCryptoError, .unsupportedFormat(.joinMessage, 2))
      }
    }
    XCTAssertThrowsError(try JoinMessage(decoding: [1, 9])) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.joinMessage)) }
  }

  func testMessagesOutOfOrderEndTheJoin() throws {
    let account = try Account()
    let started = try newDevice()
    let waiting = try account.approvingDevice()
    var (new, existing) = (started, waiting)
    let challenge = try XCTUnwrap(existing.receive(new.firstMessage))
    let challenged = existing
    let reveal = try XCTUnwrap(new.receive(challenge))
    XCTAssertNil(try existing.receive(reveal))
    let (revealed, known) = (new, existing)
    let grant = try existing.approve()

    let refusedByExisting: [(ApprovingDevice, JoinMessage)] = [
      (waiting, reveal), (waiting, challenge), (waiting, grant), (waiting, .refusal), (challenged, started.firstMessage),
      (challenged, challenge), (challenged, grant), (known, started.firstMessage), (known, reveal), (existing, started.firstMessage),
      (existing, reveal),
    ]
    for (device, message) in refusedByExisting {
      var device = device
      XCTAssertThrowsError(try device.receive(message)) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
      XCTAssertNil(device.code)
      XCTAssertThrowsError(try device.approve()) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
    }
    let refusedByNew: [(JoiningDevice, JoinMessage)] = [
      (started, started.firstMessage), (started, reveal), (started, grant), (revealed, challenge), (revealed, reveal),
    ]
    for (device, message) in refusedByNew {
      var device = device
      XCTAssertThrowsError(try device.receive(message)) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
      XCTAssertNil(device.code)
      XCTAssertThrowsError(try device.approve()) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
      XCTAssertNil(device.grant)
    }
    for device in [waiting, challenged] {
      var device = device
      XCTAssertThrowsError(try device.approve()) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
    }
    var early = started
    XCTAssertThrowsError(try early.approve()) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
  }

  func testARefusalEndsTheJoin() throws {
    let account = try Account()
    let first = try newDevice()
    var (new, existing) = (first, try account.approvingDevice())
    try exchange(&new, &existing)
    let revealed = new
    try new.approve()
    for device in [first, revealed, new] {
      var device = device
      XCTAssertThrowsError(try device.receive(.refusal)) { XCTAssertEqual($0 as? SyncCryptoError, .joinRefused) }
      XCTAssertNil(device.code)
      XCTAssertThrowsError(try device.approve()) { XCTAssertEqual($0 as? SyncCryptoError, .unexpectedJoinMessage) }
    }
  }

  func testCodesAreReadAsPeopleWriteThem() {
    for text in ["042 917", "042-917", "042917", " 042917 "] { XCTAssertEqual(JoinCode(parsing: text), JoinCode(number: 42_917), text) }
    for text in ["", "42917", "0429170", "04291x", "042\u{0661}917", "+42917"] { XCTAssertNil(JoinCode(parsing: text), text) }
  }

  func testAReaderOfTheMessagesDoesNotSeeTheDevicesName() throws {
    let account = try Account()
    var (new, existing) = (try newDevice("Phone of Ada"), try account.approvingDevice())
    let challenge = try XCTUnwrap(existing.receive(new.firstMessage))
    let bytes = try [new.firstMessage, challenge, XCTUnwrap(new.receive(challenge))].flatMap { $0.encoded() }
    for known in [Array("Phone".utf8), new.request.keys.signing, new.request.ephemeralKey] {
      XCTAssertNil(bytes.indices.first { bytes[$0...].starts(with: known) })
    }
  }

  func testNoSecretIsInAMessage() throws {
    let account = try Account()
    var (new, existing) = (try newDevice(), try account.approvingDevice())
    try exchange(&new, &existing)
    let bytes = try existing.approve().encoded()
    let secrets = [account.keys.hubKey, account.keys.bundleKey, account.bundle.signingKey.seed] + account.bundle.zones.flatMap(\.epochs)
    for secret in secrets { XCTAssertNil(bytes.indices.first { bytes[$0...].starts(with: secret.bytes.prefix(8)) }) }
  }

  // MARK: -

  private func transcriptCode(_ new: inout JoiningDevice, _ existing: inout ApprovingDevice, _ reveal: JoinMessage) throws -> JoinCode? {
    XCTAssertNil(try existing.receive(reveal))
    XCTAssertEqual(new.code, existing.code)
    return new.code
  }

  /// Calls a closure with each message that differs in one byte of the content. Some cannot be decoded.
  private func forEachChange(of message: JoinMessage, _ body: (JoinMessage) throws -> Void) {
    let bytes = message.encoded()
    for index in bytes.indices.dropFirst(2) {
      var changed = bytes
      changed[index] ^= 1
      do {
        let message = try JoinMessage(decoding: changed)
        do { try body(message) } catch { XCTFail("byte \(index): \(error)") }
      } catch { XCTAssertEqual(error as? SyncCryptoError, .damaged(.joinMessage), "byte \(index)") }
    }
  }
}
