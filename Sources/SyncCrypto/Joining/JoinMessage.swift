import StoreKeys
package import SyncCore

/// A message between a new device and an existing one of the account. It may pass through a hub, which can read and change it.
package enum JoinMessage: Hashable, Sendable {
  /// 1. New device: the hash of the request that it will reveal.
  case commitment(Digest)
  /// 2. Existing device: a nonce, and the account that the new device will join.
  case challenge(JoinChallenge)
  /// 3. New device: the commitment again, and what it commits to: the request and the random bytes that were hashed with it, encrypted for
  /// the challenge's key.
  case reveal(Digest, HPKE.Message)
  /// 4. Existing device, after the user's approval: the account's keys, encrypted for the request's ephemeral key.
  case grant(HPKE.Message)
  /// Existing device: the user has refused.
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
  /// An X25519 public key for this join only. The request is encrypted for it, so that a hub cannot read the device's name.
  package let requestKey: [UInt8]
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
    case .reveal(let commitment, let message):
      writer.write(UInt64(3))
      writer.write(commitment)
      writer.write(message)
    case .grant(let message):
      writer.write(UInt64(4))
      writer.write(message)
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
      case 3: message = .reveal(try reader.readDigest(), try reader.readHPKEMessage())
      case 4: message = .grant(try reader.readHPKEMessage())
      case 5: message = .refusal
      default: throw WireError.invalid
      }
      guard reader.isAtEnd else { throw WireError.invalid }
      return message
    }
  }
}

/// What a new device encrypts for an existing one: its request, and the random bytes of the commitment.
struct JoinReveal {
  let request: JoinRequest
  let blinding: [UInt8]

  /// The purpose for which the encoding is encrypted.
  static func purpose(of commitment: Digest) -> [UInt8] {
    var writer = WireWriter()
    writer.write("CipherData sync join request")
    writer.write(commitment)
    return writer.bytes
  }

  func encoded() -> SecretBytes {
    var writer = WireWriter()
    writer.write(request)
    writer.write(blinding)
    return SecretBytes(writer.bytes)
  }

  init(request: JoinRequest, blinding: [UInt8]) { (self.request, self.blinding) = (request, blinding) }

  init(decoding bytes: SecretBytes) throws {
    var reader = WireReader(bytes.withUnsafeBytes { Array($0) })
    self = try SyncCrypto.decoding(.joinMessage) {
      let reveal = JoinReveal(
        request: try reader.readJoinRequest(), blinding: try reader.readBytes(count: JoinMessage.randomSize))
      guard reader.isAtEnd else { throw WireError.invalid }
      return reveal
    }
  }
}

extension WireWriter {
  fileprivate mutating func write(_ message: HPKE.Message) {
    write(message.encapsulatedKey)
    write(message.ciphertext)
  }

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
    write(challenge.requestKey)
  }
}

extension WireReader {
  fileprivate mutating func readHPKEMessage() throws -> HPKE.Message {
    HPKE.Message(encapsulatedKey: try readBytes(count: AgreementKey.publicKeySize), ciphertext: try readBytes())
  }

  fileprivate mutating func readJoinRequest() throws -> JoinRequest {
    JoinRequest(
      device: DeviceID(try readFixed()), keys: try readDevicePublicKeys(),
      ephemeralKey: try readBytes(count: AgreementKey.publicKeySize), name: try readText())
  }

  fileprivate mutating func readJoinChallenge() throws -> JoinChallenge {
    JoinChallenge(
      nonce: try readBytes(count: JoinMessage.randomSize), account: try readAccountID(),
      accountKey: try readBytes(count: SigningKey.publicKeySize), requestKey: try readBytes(count: AgreementKey.publicKeySize))
  }
}
