import CLibcrypto
import Foundation

/// The cryptographic primitives for keys and files. In this module, only this folder calls libcrypto, so a port to another library
/// replaces them alone.
package enum Cryptography {
  /// The hash function of PBKDF2 and HMAC.
  package enum Hash: Sendable {
    case sha1
    case sha256
    case sha512

    var size: Int {
      switch self {
      case .sha1: 20
      case .sha256: 32
      case .sha512: 64
      }
    }

    fileprivate var algorithm: OpaquePointer? {
      switch self {
      case .sha1: EVP_sha1()
      case .sha256: EVP_sha256()
      case .sha512: EVP_sha512()
      }
    }
  }

  /// The size of an AES-GCM nonce, in bytes. ``tagSize`` is that of a tag.
  static let nonceSize = 12
  package static let tagSize = 16

  /// The library and its version, such as `OpenSSL 3.0.17 1 Jul 2025`.
  package static var libraryName: String { OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "unknown" }

  /// Overwrites memory in a way that the compiler does not remove.
  package static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
    guard let base = buffer.baseAddress, !buffer.isEmpty else { return }
    OPENSSL_cleanse(base, buffer.count)
  }

  /// Fills memory with random bytes. Returns `false` on failure.
  static func fillWithRandomBytes(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
    guard let base = buffer.baseAddress, !buffer.isEmpty else { return true }
    return RAND_bytes(base.assumingMemoryBound(to: UInt8.self), Int32(buffer.count)) == 1
  }

  /// Returns random bytes that need not be secret: salts, nonces, identifiers.
  package static func randomBytes(_ count: Int) throws(StoreAccessError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard bytes.withUnsafeMutableBytes({ fillWithRandomBytes($0) }) else { throw failure("random bytes") }
    return bytes
  }

  package static func randomSecret(_ count: Int) throws(StoreAccessError) -> SecretBytes {
    guard let secret = SecretBytes.random(count: count) else { throw failure("random bytes") }
    return secret
  }

  /// Compares bytes in a time that depends only on their number.
  static func isEqual(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
    guard first.count == second.count else { return false }
    guard let left = first.baseAddress, let right = second.baseAddress, !first.isEmpty else { return true }
    return CRYPTO_memcmp(left, right, first.count) == 0
  }

  /// Derives a key by scrypt (RFC 7914) with N = 2^`log2N`.
  static func scrypt(
    _ passphrase: SecretBytes, salt: [UInt8], log2N: Int, blockSize: Int, parallelism: Int, count: Int = 32
  ) throws(StoreAccessError) -> SecretBytes {
    // The memory that the algorithm allocates, with a margin for libcrypto's own calculation.
    let memory = UInt64(128 * blockSize) * (UInt64(1) << UInt64(log2N)) + UInt64(128 * blockSize * (parallelism + 4)) + (1 << 20)
    return try SecretBytes(count: count) { (output) throws(StoreAccessError) in
      let isDone = passphrase.withUnsafeBytes { secret in
        EVP_PBE_scrypt(
          secret.baseAddress?.assumingMemoryBound(to: CChar.self), secret.count, salt, salt.count, UInt64(1) << UInt64(log2N),
          UInt64(blockSize), UInt64(parallelism), memory, output.baseAddress?.assumingMemoryBound(to: UInt8.self), count) == 1
      }
      guard isDone else { throw failure("scrypt") }
    }
  }

  /// Derives a key by PBKDF2 (RFC 8018) with HMAC.
  static func pbkdf2(
    _ passphrase: SecretBytes, salt: [UInt8], rounds: Int, hash: Hash, count: Int = 32
  ) throws(StoreAccessError) -> SecretBytes {
    try SecretBytes(count: count) { (output) throws(StoreAccessError) in
      let isDone = passphrase.withUnsafeBytes { secret in
        PKCS5_PBKDF2_HMAC(
          secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(secret.count), salt, Int32(salt.count), Int32(rounds),
          hash.algorithm, Int32(count), output.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 1
      }
      guard isDone else { throw failure("PBKDF2") }
    }
  }

  /// Returns the HMAC of a buffer.
  static func hmac(
    _ key: SecretBytes, _ message: UnsafeRawBufferPointer, hash: Hash
  ) throws(StoreAccessError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: hash.size)
    let isDone = key.withUnsafeBytes { secret in
      HMAC(
        hash.algorithm, secret.baseAddress, Int32(secret.count), message.baseAddress?.assumingMemoryBound(to: UInt8.self),
        message.count, &digest, nil) != nil
    }
    guard isDone else { throw failure("HMAC") }
    return digest
  }

  package static func hmac(_ key: SecretBytes, _ message: [UInt8], hash: Hash) throws(StoreAccessError) -> [UInt8] {
    let result: Result<[UInt8], StoreAccessError> = message.withUnsafeBytes { bytes in
      do throws(StoreAccessError) { return .success(try hmac(key, bytes, hash: hash)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Derives a key for one purpose from a random key, by one block of HKDF-Expand (RFC 5869) with SHA-256.
  package static func derivedKey(from key: SecretBytes, purpose: String, context: [UInt8] = []) throws(StoreAccessError) -> SecretBytes {
    let information = Array(purpose.utf8) + [0] + context + [1]
    var digest = try hmac(key, information, hash: .sha256)
    let result = SecretBytes(count: digest.count) { buffer in
      digest.withUnsafeMutableBytes { source in
        buffer.copyMemory(from: UnsafeRawBufferPointer(source))
        wipe(source)
      }
    }
    return result
  }

  /// Derives a key from two secrets, by HKDF-Extract (RFC 5869) with SHA-256.
  static func mixed(_ secret: SecretBytes, salt: SecretBytes) throws(StoreAccessError) -> SecretBytes {
    var digest: [UInt8] = []
    try secret.withUnsafeBytes { (bytes) throws(StoreAccessError) in digest = try hmac(salt, bytes, hash: .sha256) }
    defer { digest.withUnsafeMutableBytes { wipe($0) } }
    return SecretBytes(digest)
  }

  /// Encrypts by AES-256-GCM. Returns the ciphertext followed by the tag.
  static func seal(
    _ secret: SecretBytes, key: SecretBytes, nonce: [UInt8], authenticating data: [UInt8]
  ) throws(StoreAccessError) -> [UInt8] {
    guard key.count == 32, nonce.count == nonceSize, let context = EVP_CIPHER_CTX_new() else { throw failure("AES-GCM") }
    defer { EVP_CIPHER_CTX_free(context) }
    var output = [UInt8](repeating: 0, count: secret.count + tagSize)
    var written: Int32 = 0
    let isDone = output.withUnsafeMutableBufferPointer { target -> Bool in
      guard let base = target.baseAddress else { return false }
      return key.withUnsafeBytes { keyBytes in
        secret.withUnsafeBytes { plain in
          EVP_EncryptInit_ex(
            context, EVP_aes_256_gcm(), nil, keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce) == 1
            && EVP_EncryptUpdate(context, nil, &written, data, Int32(data.count)) == 1
            && EVP_EncryptUpdate(
              context, base, &written, plain.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(plain.count)) == 1
            && EVP_EncryptFinal_ex(context, base + Int(written), &written) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(tagSize), base + secret.count) == 1
        }
      }
    }
    guard isDone else { throw failure("AES-GCM") }
    return output
  }

  /// Decrypts what `seal` returned, or returns `nil` if the key or any authenticated data differs.
  static func open(
    _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], authenticating data: [UInt8]
  ) throws(StoreAccessError) -> SecretBytes? {
    guard key.count == 32, nonce.count == nonceSize, sealed.count >= tagSize else { return nil }
    guard let context = EVP_CIPHER_CTX_new() else { throw failure("AES-GCM") }
    defer { EVP_CIPHER_CTX_free(context) }
    let size = sealed.count - tagSize
    var tag = Array(sealed[size...])
    var written: Int32 = 0
    var isAuthentic = false
    let secret = try SecretBytes(count: size) { (output) throws(StoreAccessError) in
      guard let base = output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      let isRead = key.withUnsafeBytes { keyBytes in
        EVP_DecryptInit_ex(
          context, EVP_aes_256_gcm(), nil, keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce) == 1
          && EVP_DecryptUpdate(context, nil, &written, data, Int32(data.count)) == 1
          && EVP_DecryptUpdate(context, base, &written, sealed, Int32(size)) == 1
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(tagSize), &tag) == 1
      }
      guard isRead else { throw failure("AES-GCM") }
      isAuthentic = EVP_DecryptFinal_ex(context, base + Int(written), &written) == 1
    }
    return isAuthentic ? secret : nil
  }

  /// Returns the error of a failed call, based on libcrypto's error queue, and clears the queue.
  static func failure(_ what: String) -> StoreAccessError {
    var isOutOfMemory = false
    while true {
      let code = ERR_get_error()
      if code == 0 { break }
      // The macros ERR_GET_REASON and ERR_R_MALLOC_FAILURE are not available in Swift.
      if code & 0x7f_ffff == 256 | 3 << 18 { isOutOfMemory = true }
    }
    // If an algorithm could not be loaded, libcrypto does not report why. Check whether an allocation that every call needs succeeds.
    if !isOutOfMemory {
      let probe = malloc(16 << 20)
      isOutOfMemory = probe == nil
      free(probe)
    }
    if isOutOfMemory { return StoreAccessError(.outOfMemory, path: nil, operation: .encrypt) }
    return StoreAccessError(.encryptionUnavailable(.libcrypto(what)), path: nil, operation: .encrypt)
  }
}

// MARK: - Key agreement

extension Cryptography {
  /// The length in bytes of an X25519 key, private or public.
  static let agreementKeySize = 32

  package static func agreementPublicKey(for privateKey: SecretBytes) throws(StoreAccessError) -> [UInt8] {
    guard let pair = makePrivateKey(privateKey) else { throw agreementFailure() }
    defer { EVP_PKEY_free(pair) }
    var publicKey = [UInt8](repeating: 0, count: agreementKeySize)
    var count = agreementKeySize
    guard EVP_PKEY_get_raw_public_key(pair, &publicKey, &count) == 1, count == agreementKeySize else { throw agreementFailure() }
    return publicKey
  }

  /// Returns the shared secret of a private key and a peer's public key, and the public key of the private key.
  package static func sharedSecret(
    _ privateKey: SecretBytes, _ publicKey: [UInt8]
  ) throws(StoreAccessError) -> (secret: SecretBytes, publicKey: [UInt8]) {
    guard let own = makePrivateKey(privateKey) else { throw agreementFailure() }
    defer { EVP_PKEY_free(own) }
    var ownPublicKey = [UInt8](repeating: 0, count: agreementKeySize)
    var ownCount = agreementKeySize
    guard EVP_PKEY_get_raw_public_key(own, &ownPublicKey, &ownCount) == 1, ownCount == agreementKeySize else { throw agreementFailure() }
    guard let peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, publicKey, publicKey.count) else { throw agreementFailure() }
    defer { EVP_PKEY_free(peer) }
    guard let context = EVP_PKEY_CTX_new(own, nil) else { throw agreementFailure() }
    defer { EVP_PKEY_CTX_free(context) }
    let secret = try SecretBytes(count: agreementKeySize) { (output) throws(StoreAccessError) in
      var count = agreementKeySize
      // libcrypto rejects public keys that would make the secret zero.
      guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
        EVP_PKEY_derive(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &count) == 1, count == agreementKeySize
      else { throw agreementFailure() }
    }
    return (secret, ownPublicKey)
  }

  /// Returns a SHA-256 digest, for checksums.
  static func sha256(_ bytes: [UInt8]) throws(StoreAccessError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else {
      throw failure("SHA-256")
    }
    return digest
  }

  private static func makePrivateKey(_ bytes: SecretBytes) -> OpaquePointer? {
    bytes.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
    }
  }

  private static func agreementFailure() -> StoreAccessError {
    failure("X25519")
  }
}

// MARK: - Encrypting pages

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
