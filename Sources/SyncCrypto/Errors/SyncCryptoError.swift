package import SyncCore

/// An error in the cryptography of synchronization. It never contains keys or stored values.
package enum SyncCryptoError: Error, Hashable, Sendable {
  /// What was read from a hub, another device or the store.
  package enum Content: Hashable, Sendable {
    case record
    case commit
    case accountKeys
    case bundle
    case deviceKeys
    case certificate
    case joinMessage
    /// A chunk of a large value.
    case chunk
  }

  /// The reason why a text is not a recovery key.
  package enum MalformedRecoveryKey: Hashable, Sendable {
    /// It contains a character that no recovery key contains.
    case character
    case length(Int, expected: Int)
    /// A group of characters, counted from 1, was mistyped.
    case group(Int)
  }

  /// The recovery key is of another account.
  case wrongRecoveryKey
  case malformedRecoveryKey(MalformedRecoveryKey)
  /// The bytes are not what was sealed or encoded.
  case damaged(Content)
  /// The content was written in a later version of the format.
  case unsupportedFormat(Content, UInt64)
  /// The content was sealed with algorithms that this version does not implement.
  case unsupportedSuite(Content, UInt64)
  /// The account has no keys of the zone.
  case unknownZone(ZoneID)
  /// A record was sealed in an epoch of its zone whose key is missing: the bundle must be read again.
  case unknownEpoch(UInt64)
  /// The content was not signed with the expected key.
  case invalidSignature(Content)
  /// The chain of certificates does not contain the device: the chain must be read again.
  case unknownDevice(DeviceID)
  /// The certificate at a position, counted from 0, does not continue the chain.
  case brokenCertificateChain(Int)
  /// The bytes are not a public key.
  case invalidPublicKey
  /// A join message arrived, or a call was made, that the state of the join does not permit. The join has failed.
  case unexpectedJoinMessage
  /// The new device has revealed something other than it committed to. The join has failed.
  case wrongCommitment
  /// The keys are not those of the account that the existing device announced. The join has failed.
  case wrongAccount
  /// The other device has refused to join.
  case joinRefused
  /// A call of libcrypto failed, for example because memory is exhausted.
  case libcrypto(String)
}

extension SyncCryptoError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .wrongRecoveryKey: "This recovery key belongs to another account. Use the one that was printed for this account."
    case .malformedRecoveryKey(.character): "This text is not a recovery key: it contains a character that recovery keys do not have."
    case .malformedRecoveryKey(.length(let count, let expected)):
      "This text is not a recovery key: it has \(count) characters instead of \(expected)."
    case .malformedRecoveryKey(.group(let number)): "The recovery key is mistyped in group \(number). Compare it with the printed one."
    case .damaged(let content): "The \(content.name) is damaged or was sealed with other keys."
    case .unsupportedFormat(let content, let version):
      "The \(content.name) has format \(version), which this version does not support. Update this device."
    case .unsupportedSuite(let content, let suite):
      "The \(content.name) uses cipher suite \(suite), which this version does not support. Update this device."
    case .unknownZone: "The account has no keys of this zone. Read the account's bundle again."
    case .unknownEpoch(let epoch): "The key of epoch \(epoch) is missing. Read the account's bundle again."
    case .invalidSignature(let content): "The signature of the \(content.name) is invalid: a device of this account did not sign it."
    case .unknownDevice: "The account has no certificate of this device. Read the account's certificates again."
    case .brokenCertificateChain(let position): "Certificate \(position + 1) of the account does not continue the chain."
    case .invalidPublicKey: "The bytes are not a public key."
    case .unexpectedJoinMessage: "The devices' messages are out of order. Begin again on the new device."
    case .wrongCommitment: "The new device did not reveal what it committed to. Begin again on the new device."
    case .wrongAccount: "The keys are not of the account that the existing device announced. Begin again on the new device."
    case .joinRefused: "The request to join was refused on the other device."
    case .libcrypto(let function): "libcrypto failed: \(function)."
    }
  }
}

extension SyncCryptoError.Content {
  fileprivate var name: String {
    switch self {
    case .record: "record"
    case .commit: "commit"
    case .accountKeys: "encoding of the account's keys"
    case .bundle: "account's bundle"
    case .deviceKeys: "encoding of the device's keys"
    case .certificate: "device certificate"
    case .joinMessage: "message of the other device"
    case .chunk: "chunk of a large value"
    }
  }
}
