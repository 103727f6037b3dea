/// Knows whether a page as it stands in the file was written with a key, at this place of the file.
package struct PageAuthenticator {
  package let format: SQLCipherFormat
  private let macKey: SecretBytes

  /// Derives the key of the codes as SQLCipher does: two rounds over the key with the salt masked.
  package init(key: DatabaseKey) throws(StoreAccessError) {
    format = key.format
    macKey = try Cryptography.pbkdf2(key.key, salt: key.salt.map { $0 ^ 0x3a }, rounds: 2, hash: key.format.hash)
  }

  /// Whether the page is what was written as page `number`. The bytes behind the initialization vector are overwritten.
  ///
  /// - Throws: What libcrypto says where it fails: a page that cannot be checked is not a damaged one.
  package func isAuthentic(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) -> Bool {
    guard page.count == format.pageSize else { return false }
    let stored = Array(page[codeStart..<codeStart + format.hash.size])
    let code = try code(of: page, number: number)
    return code.withUnsafeBytes { first in stored.withUnsafeBytes { second in Cryptography.isEqual(first, second) } }
  }

  /// Writes the code of an encrypted page, which has the format's size, behind its initialization vector.
  func authenticate(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) {
    let code = try code(of: page, number: number)
    UnsafeMutableRawBufferPointer(rebasing: page[codeStart...]).copyBytes(from: code)
  }

  /// The code covers the initialization vector too.
  private var codeStart: Int { format.pageSize - format.reservedBytes + Cryptography.blockSize }

  /// The code over a page's content, vector and number, which is written where the code stands.
  private func code(of page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) -> [UInt8] {
    for index in 0..<4 { page[codeStart + index] = UInt8(truncatingIfNeeded: number >> UInt32(8 * index)) }
    let start = number == 1 ? DatabaseKey.saltSize : 0
    return try Cryptography.hmac(macKey, UnsafeRawBufferPointer(rebasing: page[start..<codeStart + 4]), hash: format.hash)
  }
}
