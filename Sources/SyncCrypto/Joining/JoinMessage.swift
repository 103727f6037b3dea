package import SyncCore

/// A message between a new device and an existing one of the account. It may pass through a hub, which can read and change it.
package enum JoinMessage: Hashable, Sendable {
  /// 1. New device: the hash of the request that it will reveal.
  case commitment(Digest)
  /// 2. Existing device: a nonce, and the account that the new device will join.
  case challenge(JoinChallenge)
  /// 3. New device: the request, and the random bytes that were hashed with it.
  case reveal(JoinRequest, blinding: [UInt8])
  /// 4. Existing device, after the user's approval: the account's keys, encrypted for the request's ephemeral key.
  case grant(HPKE.Message)
  /// Either device: the user has refused.
  case refusal
}

/// What a new device says of itself.
package struct JoinRequest: Hashable, Sendable {
  package let device: DeviceID
  package let keys: DevicePublicKeys
  /// An X25519 public key for this join only.
  package let ephemeralKey: [UInt8]
  /// The device's name for people.
  package let name: String
}

/// The answer of an existing device to a commitment.
package struct JoinChallenge: Hashable, Sendable {
  package let nonce: [UInt8]
  package let account: AccountID
  /// The public key of the account's signing key.
  package let accountKey: [UInt8]
}

// MARK: - Encoding

extension JoinMessage {
  private static let format: UInt64 = 1
  static let randomSize = 32

  package func encoded() -> [UInt8] {
    var writer = WireWriter()
    writer.write(Self.format)
    switch self {
    case .commitment(let digest):
      writer.write(UInt64(1))
      writer.write(digest)
    case .challenge(let challenge):
      writer.write(UInt64(2))
      writer.write(challenge)
    case .reveal(let request, let blinding):
      writer.write(UInt64(3))
      writer.write(request)
      writer.write(blinding)
    case .grant(let message):
      writer.write(UInt64(4))
      writer.write(message.encapsulatedKey)
      writer.write(message.ciphertext)
    case .refusal: writer.write(UInt64(5))
    }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws {
    var reader = WireReader(bytes)
    self = try SyncCrypto.decoding(.joinMessage) {
      let format = try reader.readUnsigned()
      guard format == Self.format else { throw WireError.unsupportedVersion(format) }
      let message: JoinMessage
      switch try reader.readUnsigned() {
      case 1: message = .commitment(try reader.readDigest())
      case 2: message = .challenge(try reader.readJoinChallenge())
      case 3: message = .reveal(try reader.readJoinRequest(), blinding: try reader.readBytes(count: Self.randomSize))
      case 4:
        let key = try reader.readBytes(count: AgreementKey.publicKeySize)
        message = .grant(HPKE.Message(encapsulatedKey: key, ciphertext: try reader.readBytes()))
      case 5: message = .refusal
      default: throw WireError.invalid
      }
      guard reader.isAtEnd else { throw WireError.invalid }
      return message
    }
  }
}

extension WireWriter {
  mutating func write(_ request: JoinRequest) {
    writeFixed(request.device.value)
    write(request.keys)
    write(request.ephemeralKey)
    write(request.name)
  }

  mutating func write(_ challenge: JoinChallenge) {
    write(challenge.nonce)
    write(challenge.account)
    write(challenge.accountKey)
  }
}

extension WireReader {
  fileprivate mutating func readJoinRequest() throws -> JoinRequest {
    JoinRequest(
      device: DeviceID(try readFixed()), keys: try readDevicePublicKeys(),
      ephemeralKey: try readBytes(count: AgreementKey.publicKeySize), name: try readText())
  }

  fileprivate mutating func readJoinChallenge() throws -> JoinChallenge {
    JoinChallenge(
      nonce: try readBytes(count: JoinMessage.randomSize), account: try readAccountID(),
      accountKey: try readBytes(count: SigningKey.publicKeySize))
  }
}
