import SyncCore

/// An existing device of an account, whose user can approve a new device.
package struct ApprovingDevice: Sendable {
  private let grant: JoinGrant
  private let challenge: JoinChallenge
  private var state = State.waiting

  private enum State {
    case waiting
    case challenged(Digest)
    case revealed(JoinRequest, JoinTranscript)
    case ended
  }

  /// - Parameter chain: The verified certificates of the account's devices.
  package init(account: AccountKeys, bundle: AccountBundle, chain: DeviceChain.Head) throws {
    grant = JoinGrant(account: account, bundle: bundle, chain: chain)
    challenge = JoinChallenge(
      nonce: try Random.bytes(JoinMessage.randomSize), account: account.id, accountKey: bundle.signingKey.publicKey)
  }

  /// What the new device says of itself, once it is known.
  package var request: JoinRequest? { if case .revealed(let request, _) = state { request } else { nil } }

  /// The code that the user compares with the one on the new device, once it is known.
  package var code: JoinCode? { if case .revealed(_, let transcript) = state { transcript.code } else { nil } }

  /// Processes a message of the new device.
  ///
  /// - Returns: The message to send.
  package mutating func receive(_ message: JoinMessage) throws -> JoinMessage? {
    let former = state
    state = .ended
    switch (former, message) {
    case (.waiting, .commitment(let commitment)):
      state = .challenged(commitment)
      return .challenge(challenge)
    case (.challenged(let commitment), .reveal(let request, let blinding)):
      guard try JoinTranscript.commitment(to: request, blinding: blinding) == commitment else { throw SyncCryptoError.wrongCommitment }
      state = .revealed(request, try JoinTranscript(commitment, challenge, request))
      return nil
    case (.challenged, .refusal), (.revealed, .refusal): throw SyncCryptoError.joinRefused
    default: throw SyncCryptoError.unexpectedJoinMessage
    }
  }

  /// Gives the account's keys to the new device, after the user has found the same code on both devices.
  ///
  /// - Returns: The message to send.
  package mutating func approve() throws -> JoinMessage {
    let former = state
    state = .ended
    guard case .revealed(let request, let transcript) = former else { throw SyncCryptoError.unexpectedJoinMessage }
    return .grant(try HPKE.seal(grant.encoded(), to: request.ephemeralKey, transcript.purpose))
  }

  /// Ends the join, because the codes differ or the user does not want the device.
  package mutating func refuse() -> JoinMessage {
    state = .ended
    return .refusal
  }
}
