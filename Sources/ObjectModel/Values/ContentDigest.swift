// ContentDigest: SHA-256 of bytes, and the MD5 that the compiler has in symbols.
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

  /// The MD5 of bytes, which says nothing of who wrote them; nil where libcrypto does not offer it, as in its FIPS mode.
  package static func md5(_ bytes: [UInt8]) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: 16)
    var length: UInt32 = 0
    return EVP_Digest(bytes, bytes.count, &digest, &length, EVP_md5(), nil) == 1 && length == 16 ? digest : nil
  }
}
