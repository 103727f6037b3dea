// ContentDigest: SHA-256 of bytes.
internal import CLibcrypto
package import Foundation

/// Digests of contents.
package enum ContentDigest {
  /// The SHA-256 of bytes.
  package static func sha256(_ bytes: some ContiguousBytes) -> Data {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let result = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &digest, &length, EVP_sha256(), nil) }
    // Only a library without SHA-256 can fail here, and that library could not run the cipher either.
    precondition(result == 1 && length == 32, "libcrypto offers no SHA-256")
    return Data(digest)
  }
}
