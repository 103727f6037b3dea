import StoreKeys
import SyncCore

/// What a new device gets from an existing one.
package struct JoinGrant: Equatable, Sendable {
  package let account: AccountKeys
  package let bundle: AccountBundle
  /// The end of the chain of certificates that the existing device knows. The chain that a hub shows must contain it.
  package let chain: DeviceChain.Head
}

extension JoinGrant {
  private static let headSize = 40

  /// The encoding: the account's keys, the end of the chain, and the bundle.
  func encoded() -> SecretBytes {
    var writer = WireWriter()
    writer.writeFixed(UInt64(bitPattern: chain.count))
    writer.write(chain.digest)
    return SecretBytes(joining: [account.encoded(), SecretBytes(writer.bytes), bundle.encoded()])
  }

  init(decoding bytes: SecretBytes) throws {
    let (keysEnd, headEnd) = (AccountKeys.encodedSize, AccountKeys.encodedSize + Self.headSize)
    guard bytes.count > headEnd else { throw SyncCryptoError.damaged(.joinMessage) }
    account = try AccountKeys(decoding: bytes.slice(0..<keysEnd))
    var reader = WireReader(bytes.withUnsafeBytes { Array($0[keysEnd..<headEnd]) })
    chain = try SyncCrypto.decoding(.joinMessage) {
      DeviceChain.Head(count: Int64(bitPattern: try reader.readFixed()), digest: try reader.readDigest())
    }
    bundle = try AccountBundle(decoding: bytes.slice(headEnd..<bytes.count))
  }
}
