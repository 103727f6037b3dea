import Foundation
import StoreKeys

extension AccountKeys {
  /// Returns the name of a device as its certificate contains it: sealed, because hubs store certificates.
  package func sealedName(_ name: String) throws -> String {
    let nonce = try Random.bytes(GCMCipher.nonceSize)
    // The length of a name is hidden up to 31 bytes.
    var padded = Array(name.utf8)
    padded.append(0x80)
    while padded.count % 32 != 0 { padded.append(0) }
    let sealed = try GCMCipher.seal(SecretBytes(padded), key: nameKey(), nonce: nonce, authenticating: Self.purpose)
    return Data(nonce + sealed).base64EncodedString()
  }

  /// Returns the name of a device from its certificate.
  ///
  /// - Throws: `damaged(.certificate)` if the name was not sealed with the keys of the account.
  package func name(ofSealed text: String) throws -> String {
    guard let bytes = Data(base64Encoded: text).map(Array.init), bytes.count > GCMCipher.nonceSize else {
      throw SyncCryptoError.damaged(.certificate)
    }
    let nonce = Array(bytes[..<GCMCipher.nonceSize])
    guard let opened = try GCMCipher.open(bytes[GCMCipher.nonceSize...], key: nameKey(), nonce: nonce, authenticating: Self.purpose)
    else { throw SyncCryptoError.damaged(.certificate) }
    let padded = opened.withUnsafeBytes { Array($0) }
    guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 0x80, let name = String(validating: padded[..<end], as: UTF8.self)
    else { throw SyncCryptoError.damaged(.certificate) }
    return name
  }

  private static let purpose = Array("CipherData sync device name".utf8)

  private func nameKey() throws -> SecretBytes { try HKDF.expand(bundleKey, Array("device names".utf8)) }
}
