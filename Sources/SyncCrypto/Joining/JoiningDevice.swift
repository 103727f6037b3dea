package import SyncCore

/// A new device that joins an account with the approval of an existing device.
///
/// Messages go in and come out; a transport carries them. An error ends the join: it must begin again, so that each attempt of a hub to
/// guess a code costs the user's attention. To cancel a join, release the value.
package struct JoiningDevice: Sendable {
  package let request: JoinRequest
  private let ephemeral: AgreementKey
  private let blinding: [UInt8]
  private let commitment: Digest
  private var state = State.committed
  /// The account's keys, once the user has approved here and on the existing device.
  package private(set) var grant: JoinGrant?

  private enum State {
    case committed
    case revealed(JoinChallenge, JoinTranscript)
    /// The grant arrived before the user's approval here.
    case granted(JoinChallenge, JoinTranscript, HPKE.Message)
    case approved(JoinChallenge, JoinTranscript)
    case ended
  }

  package init(device: DeviceID, keys: DeviceKeys, name: String) throws {
    ephemeral = try .random()
    blinding = try Random.bytes(JoinMessage.randomSize)
    request = JoinRequest(device: device, keys: keys.publicKeys, ephemeralKey: ephemeral.publicKey, name: name)
    commitment = try JoinTranscript.commitment(to: request, blinding: blinding)
  }

  /// The first message.
  package var firstMessage: JoinMessage { .commitment(commitment) }

  /// The code that the user compares with the one on the existing device, once it is known.
  package var code: JoinCode? {
    switch state {
    case .revealed(_, let transcript), .granted(_, let transcript, _), .approved(_, let transcript): transcript.code
    case .committed, .ended: nil
    }
  }

  /// Processes a message of the existing device.
  ///
  /// - Returns: The message to send.
  package mutating func receive(_ message: JoinMessage) throws -> JoinMessage? {
    let former = state
    state = .ended
    switch (former, message) {
    case (.committed, .challenge(let challenge)):
      state = .revealed(challenge, try JoinTranscript(commitment, challenge, request))
      let reveal = JoinReveal(request: request, blinding: blinding)
      return .reveal(commitment, try HPKE.seal(reveal.encoded(), to: challenge.requestKey, JoinReveal.purpose(of: commitment)))
    case (.revealed(let challenge, let transcript), .grant(let message)): state = .granted(challenge, transcript, message)
    case (.approved(let challenge, let transcript), .grant(let message)): try open(message, challenge, transcript)
    case (.committed, .refusal), (.revealed, .refusal), (.approved, .refusal): throw SyncCryptoError.joinRefused
    default: throw SyncCryptoError.unexpectedJoinMessage
    }
    return nil
  }

  /// Records that the user has found the same code on both devices.
  ///
  /// The new device needs the approval too: a hub could give it keys of another account, which would then read everything.
  package mutating func approve() throws {
    let former = state
    state = .ended
    switch former {
    case .revealed(let challenge, let transcript): state = .approved(challenge, transcript)
    case .granted(let challenge, let transcript, let message): try open(message, challenge, transcript)
    case .committed, .approved, .ended: throw SyncCryptoError.unexpectedJoinMessage
    }
  }

  private mutating func open(_ message: HPKE.Message, _ challenge: JoinChallenge, _ transcript: JoinTranscript) throws {
    guard let secret = try HPKE.open(message, with: ephemeral, transcript.purpose) else { throw SyncCryptoError.damaged(.joinMessage) }
    let grant = try JoinGrant(decoding: secret)
    // Any sender can encrypt for this device, but only a device of the account that the codes have confirmed knows the account's private key.
    guard grant.account.id == challenge.account, grant.bundle.signingKey.publicKey == challenge.accountKey else {
      throw SyncCryptoError.wrongAccount
    }
    self.grant = grant
  }
}
