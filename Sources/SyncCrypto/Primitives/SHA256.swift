import CLibcrypto
import SyncCore

/// Computes SHA-256 digests of bytes that are added in parts. A context is used for one digest after the other.
final class SHA256 {
  private let context: OpaquePointer

  init() throws {
    guard let context = EVP_MD_CTX_new() else { throw Self.failure }
    self.context = context
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { throw Self.failure }
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Returns the digest of two parts.
  func digest(of first: [UInt8], _ second: [UInt8]) throws -> Digest {
    // Without an algorithm libcrypto uses the last one, and does not look it up.
    guard EVP_DigestInit_ex(context, nil, nil) == 1, EVP_DigestUpdate(context, first, first.count) == 1,
      EVP_DigestUpdate(context, second, second.count) == 1
    else { throw Self.failure }
    return try Digest.filled { EVP_DigestFinal_ex(context, $0, nil) == 1 } ?? { throw Self.failure }()
  }

  static func digest(of bytes: [UInt8]) throws -> Digest {
    try Digest.filled { EVP_Digest(bytes, bytes.count, $0, nil, EVP_sha256(), nil) == 1 } ?? { throw failure }()
  }

  private static var failure: SyncCryptoError { .failed("SHA-256") }
}

extension Digest {
  /// Returns a digest whose 32 bytes a closure writes, or nil if the closure returns false.
  ///
  /// The words are little-endian, as in encoded digests.
  static func filled(_ body: (UnsafeMutablePointer<UInt8>) -> Bool) -> Digest? {
    withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { buffer in
      guard let bytes = buffer.assumingMemoryBound(to: UInt8.self).baseAddress, body(bytes) else { return nil }
      func word(_ index: Int) -> UInt64 { UInt64(littleEndian: buffer.load(fromByteOffset: 8 * index, as: UInt64.self)) }
      return Digest(word(0), word(1), word(2), word(3))
    }
  }
}

extension SyncCryptoError {
  /// Returns the error of a failed call, and clears libcrypto's error queue, which belongs to the thread.
  static func failed(_ function: String) -> SyncCryptoError {
    ERR_clear_error()
    return .libcrypto(function)
  }
}
