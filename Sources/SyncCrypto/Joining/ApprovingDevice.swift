import StoreKeys
import SyncCore

/// An existing device of an account, whose user can approve a new device.
///
/// The answer to a commitment follows from the commitment, the account's keys and the time. So all devices of an account give the same
/// answer, and any of them can continue after another one, or after its own process has ended. A hub cannot compute the answer to a
/// commitment that it has not sent to a device.
package struct ApprovingDevice: Sendable {
  private let account: AccountKeys
  private let grant: JoinGrant
  private let period: Int64
  private var state = State.waiting

  private enum State {
    case waiting
    case challenged(Digest, JoinChallenge, AgreementKey)
    case revealed(JoinRequest, JoinTranscript)
    case ended
  }

  /// The time in milliseconds after which the answers change, so that a hub cannot collect codes for longer.
  private static let periodLength: Int64 = 600_000

  /// - Parameters:
  ///   - chain: The end of the chain of the account's verified certificates.
  ///   - time: The time in milliseconds since 1970.
  package init(account: AccountKeys, bundle: AccountBundle, chain: DeviceChain.Head, at time: Int64) {
    self.account = account
    grant = JoinGrant(account: account, bundle: bundle, chain: chain)
    period = time / Self.periodLength
  }

  /// Continues a join whose commitment was answered in this period or in the one before, maybe by another process or device.
  ///
  /// - Parameter reveal: The message with which the new device has answered the challenge.
  /// - Throws: ``SyncCryptoError`` if the message is not an answer to such a challenge.
  package init(
    account: AccountKeys, bundle: AccountBundle, chain: DeviceChain.Head, at time: Int64, continuingWith reveal: JoinMessage
  ) throws {
    guard case .reveal(let commitment, _) = reveal else { throw SyncCryptoError.unexpectedJoinMessage }
    var failure: any Error = SyncCryptoError.damaged(.joinMessage)
    for time in [time, time - Self.periodLength] {
      var device = ApprovingDevice(account: account, bundle: bundle, chain: chain, at: time)
      do {
        _ = try device.receive(.commitment(commitment))
        _ = try device.receive(reveal)
        self = device
        return
      } catch { failure = error }
    }
    throw failure
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
      let (nonce, key) = try account.joinSecrets(for: commitment, in: period)
      let challenge = JoinChallenge(
        nonce: nonce, account: account.id, accountKey: grant.bundle.signingKey.publicKey, requestKey: key.publicKey)
      state = .challenged(commitment, challenge, key)
      return .challenge(challenge)
    case (.challenged(let commitment, let challenge, let key), .reveal(let revealed, let message)) where revealed == commitment:
      guard let secret = try HPKE.open(message, with: key, JoinReveal.purpose(of: commitment)) else {
        throw SyncCryptoError.damaged(.joinMessage)
      }
      let reveal = try JoinReveal(decoding: secret)
      guard try JoinTranscript.commitment(to: reveal.request, blinding: reveal.blinding) == commitment else {
        throw SyncCryptoError.wrongCommitment
      }
      state = .revealed(reveal.request, try JoinTranscript(commitment, challenge, reveal.request))
      return nil
    case (.challenged, .reveal): throw SyncCryptoError.wrongCommitment
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
}

extension AccountKeys {
  /// Returns the nonce and the key with which the devices of the account answer a commitment.
  fileprivate func joinSecrets(for commitment: Digest, in period: Int64) throws -> (nonce: [UInt8], key: AgreementKey) {
    var writer = WireWriter()
    writer.write("CipherData sync join challenge")
    writer.write(period)
    writer.write(commitment)
    let size = JoinMessage.randomSize
    let secret = try HKDF.expand(bundleKey, writer.bytes, count: size + AgreementKey.publicKeySize)
    return (secret.withUnsafeBytes { Array($0[..<size]) }, try AgreementKey(privateKey: secret.slice(size..<secret.count)))
  }
}
