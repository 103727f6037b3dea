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
    return (nonce + sealed).map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
  }

  /// Returns the name of a device from its certificate.
  ///
  /// - Throws: `damaged(.certificate)` if the name was not sealed with the keys of the account.
  package func name(ofSealed text: String) throws -> String {
    let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count % 2 == 0, digits.count / 2 > GCMCipher.nonceSize else { throw SyncCryptoError.damaged(.certificate) }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { throw SyncCryptoError.damaged(.certificate) }
      bytes.append(UInt8(high << 4 | low))
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
