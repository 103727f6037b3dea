import CLibcrypto
import StoreKeys

/// AES-GCM with one key of 16 or 32 bytes, in one direction. The key is processed once.
final class GCMCipher {
  enum Direction: Int32 {
    case open = 0
    case seal = 1
  }

  static let (nonceSize, tagSize) = (12, 16)
  private let context: OpaquePointer

  init(key: SecretBytes, _ direction: Direction) throws {
    guard let context = EVP_CIPHER_CTX_new() else { throw Self.failure }
    self.context = context
    let algorithm =
      switch key.count {
      case 16: EVP_aes_128_gcm()
      case 32: EVP_aes_256_gcm()
      default: throw SyncCryptoError.libcrypto("AES-GCM with a key of \(key.count) bytes")
      }
    let isReady = key.withUnsafeBytes {
      EVP_CipherInit_ex(context, algorithm, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, direction.rawValue) == 1
    }
    guard isReady else { throw Self.failure }
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Encrypts a buffer in place, the last 16 bytes of which are space for the tag.
  func seal(_ buffer: UnsafeMutableRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]) throws {
    let size = buffer.count - Self.tagSize
    var written: Int32 = 0
    guard nonce.count == Self.nonceSize, let bytes = buffer.assumingMemoryBound(to: UInt8.self).baseAddress,
      let count = Int32(exactly: size), count >= 0, EVP_CipherInit_ex(context, nil, nil, nil, nonce, -1) == 1,
      EVP_CipherUpdate(context, nil, &written, data, Int32(data.count)) == 1,
      count == 0 || EVP_CipherUpdate(context, bytes, &written, bytes, count) == 1,
      EVP_CipherFinal_ex(context, bytes + size, &written) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(Self.tagSize), bytes + size) == 1
    else { throw Self.failure }
  }

  /// Decrypts a ciphertext with its tag in place.
  ///
  /// - Returns: False if it is not authentic. The buffer is wiped then.
  func open(_ buffer: UnsafeMutableRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]) throws -> Bool {
    let size = buffer.count - Self.tagSize
    var written: Int32 = 0
    guard size >= 0 else { return false }
    guard nonce.count == Self.nonceSize, let bytes = buffer.assumingMemoryBound(to: UInt8.self).baseAddress,
      let count = Int32(exactly: size), EVP_CipherInit_ex(context, nil, nil, nil, nonce, -1) == 1,
      EVP_CipherUpdate(context, nil, &written, data, Int32(data.count)) == 1,
      count == 0 || EVP_CipherUpdate(context, bytes, &written, bytes, count) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(Self.tagSize), bytes + size) == 1
    else { throw Self.failure }
    if EVP_CipherFinal_ex(context, bytes + size, &written) == 1 { return true }
    ERR_clear_error()
    Cryptography.wipe(buffer)
    return false
  }

  private static var failure: SyncCryptoError { .failed("AES-GCM") }
}

// MARK: - Secrets

extension GCMCipher {
  /// Encrypts a secret once with a key.
  static func seal(_ secret: SecretBytes, key: SecretBytes, nonce: [UInt8], authenticating data: [UInt8]) throws -> [UInt8] {
    let cipher = try GCMCipher(key: key, .seal)
    let size = secret.count + tagSize
    return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let bytes = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size])
      do {
        secret.withUnsafeBytes { bytes.copyMemory(from: $0) }
        try cipher.seal(bytes, nonce: nonce, authenticating: data)
      } catch {
        Cryptography.wipe(bytes)
        throw error
      }
      count = size
    }
  }

  /// Decrypts a secret.
  ///
  /// - Returns: Nil if the ciphertext is not authentic.
  static func open(
    _ ciphertext: some Collection<UInt8>, key: SecretBytes, nonce: [UInt8], authenticating data: [UInt8]
  ) throws -> SecretBytes? {
    guard ciphertext.count >= tagSize else { return nil }
    let cipher = try GCMCipher(key: key, .open)
    var isAuthentic = false
    let secret = try SecretBytes(count: ciphertext.count) { buffer in
      buffer.copyBytes(from: ciphertext)
      isAuthentic = try cipher.open(buffer, nonce: nonce, authenticating: data)
    }
    return isAuthentic ? secret.slice(0..<secret.count - tagSize) : nil
  }
}
