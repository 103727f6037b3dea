internal import CLibcrypto
package import Foundation

/// Cryptographic digests.
package enum ContentDigest {
  /// Returns the SHA-256 of bytes.
  package static func sha256(_ bytes: some ContiguousBytes) -> Data {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let result = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &digest, &length, EVP_sha256(), nil) }
    // Fails only if libcrypto lacks SHA-256, in which case the cipher could not run either.
    precondition(result == 1 && length == 32, "libcrypto offers no SHA-256")
    return Data(digest)
  }

  /// Returns the MD5 of bytes, which must not be used for authentication; nil if libcrypto does not offer it, as in FIPS mode.
  package static func md5(_ bytes: [UInt8]) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: 16)
    var length: UInt32 = 0
    return EVP_Digest(bytes, bytes.count, &digest, &length, EVP_md5(), nil) == 1 && length == 16 ? digest : nil
  }
}
