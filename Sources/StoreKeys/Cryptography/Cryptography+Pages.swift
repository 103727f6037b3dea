import CLibcrypto

extension Cryptography {
  /// The block size of AES and the size of an initialization vector, in bytes.
  static let blockSize = 16

  /// Encrypts whole blocks in place with AES-256-CBC without padding, as SQLCipher does for pages. Returns `false` on failure.
  static func encrypt(_ blocks: UnsafeMutableRawBufferPointer, key: SecretBytes, vector: [UInt8]) -> Bool {
    cbc(blocks, key, vector) {
      EVP_EncryptInit_ex($0, EVP_aes_256_cbc(), nil, $1, vector) == 1
    } update: {
      EVP_EncryptUpdate($0, $1, $2, $1, $3) == 1
    }
  }

  /// Decrypts whole blocks in place. Returns `false` on failure.
  static func decrypt(_ blocks: UnsafeMutableRawBufferPointer, key: SecretBytes, vector: [UInt8]) -> Bool {
    cbc(blocks, key, vector) {
      EVP_DecryptInit_ex($0, EVP_aes_256_cbc(), nil, $1, vector) == 1
    } update: {
      EVP_DecryptUpdate($0, $1, $2, $1, $3) == 1
    }
  }

  private static func cbc(
    _ blocks: UnsafeMutableRawBufferPointer, _ key: SecretBytes, _ vector: [UInt8],
    begin: (OpaquePointer, UnsafePointer<UInt8>) -> Bool,
    update: (OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int32>, Int32) -> Bool
  ) -> Bool {
    guard key.count == 32, vector.count == blockSize, blocks.count % blockSize == 0, let context = EVP_CIPHER_CTX_new(),
      let base = blocks.baseAddress?.assumingMemoryBound(to: UInt8.self)
    else { return false }
    defer { EVP_CIPHER_CTX_free(context) }
    var written: Int32 = 0
    return key.withUnsafeBytes { bytes in
      guard let secret = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), begin(context, secret) else { return false }
      EVP_CIPHER_CTX_set_padding(context, 0)
      return update(context, base, &written, Int32(blocks.count)) && Int(written) == blocks.count
    }
  }
}
