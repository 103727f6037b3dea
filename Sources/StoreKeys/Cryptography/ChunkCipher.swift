import CLibcrypto

/// AES-256-GCM with one key for a stream of numbered chunks. A chunk can be decrypted only at its own position, and the last one only as
/// the last.
package final class ChunkCipher {
  private let context: OpaquePointer
  private let key: SecretBytes
  private let header: [UInt8]

  /// - Parameters:
  ///   - key: A key of 32 bytes that is used for one stream only.
  ///   - header: Data that is authenticated with every chunk.
  package init(key: SecretBytes, header: [UInt8]) throws(StoreAccessError) {
    guard key.count == 32, let context = EVP_CIPHER_CTX_new() else { throw Self.failure }
    self.context = context
    self.key = key
    self.header = header
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Encrypts a chunk. `output` must have 16 bytes more than `input`.
  package func seal(_ input: UnsafeRawBufferPointer, _ index: Int, isLast: Bool, into output: UnsafeMutableRawBufferPointer)
    throws(StoreAccessError)
  {
    guard output.count == input.count + Cryptography.tagSize, let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
      throw Self.failure
    }
    var written: Int32 = 0
    let nonce = Self.nonce(index, isLast: isLast)
    let isDone = key.withUnsafeBytes { key in
      EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce) == 1
        && EVP_EncryptUpdate(context, nil, &written, header, Int32(header.count)) == 1
        && EVP_EncryptUpdate(context, target, &written, input.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(input.count)) == 1
        && EVP_EncryptFinal_ex(context, target + Int(written), &written) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(Cryptography.tagSize), target + input.count) == 1
    }
    guard isDone else { throw Self.failure }
  }

  /// Decrypts a chunk. Returns `false` and zeroes the output if the input is not what was sealed as this chunk.
  package func open(_ input: UnsafeRawBufferPointer, _ index: Int, isLast: Bool, into output: UnsafeMutableRawBufferPointer)
    throws(StoreAccessError)
    -> Bool
  {
    let size = input.count - Cryptography.tagSize
    guard size >= 0, output.count == size, let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self),
      let source = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    else { return false }
    var tag = [UInt8](input[size...])
    var written: Int32 = 0
    let nonce = Self.nonce(index, isLast: isLast)
    let isRead = key.withUnsafeBytes { key in
      EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce) == 1
        && EVP_DecryptUpdate(context, nil, &written, header, Int32(header.count)) == 1
        && EVP_DecryptUpdate(context, target, &written, source, Int32(size)) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(Cryptography.tagSize), &tag) == 1
    }
    let isAuthentic = isRead && EVP_DecryptFinal_ex(context, target + Int(written), &written) == 1
    // Do not return unauthenticated plaintext.
    if !isAuthentic { Cryptography.wipe(output) }
    if !isRead { throw Self.failure }
    return isAuthentic
  }

  /// Returns the nonce of a chunk: its number and whether it is the last. So no nonce is used twice with one key.
  private static func nonce(_ index: Int, isLast: Bool) -> [UInt8] {
    withUnsafeBytes(of: UInt64(index).littleEndian) { Array($0) } + [0, 0, 0, isLast ? 1 : 0]
  }

  private static var failure: StoreAccessError {
    Cryptography.failure("AES-GCM")
  }
}

/// An incremental SHA-256 digest.
package final class IncrementalDigest {
  private let context: OpaquePointer

  package init() throws(StoreAccessError) {
    guard let context = EVP_MD_CTX_new() else { throw Self.failure }
    self.context = context
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { throw Self.failure }
  }

  deinit { EVP_MD_CTX_free(context) }

  package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreAccessError) {
    guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { throw Self.failure }
  }

  /// Returns the digest. Nothing can be appended afterward.
  package func finish() throws(StoreAccessError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw Self.failure }
    return digest
  }

  private static var failure: StoreAccessError {
    Cryptography.failure("SHA-256")
  }
}
