/// Checks whether a page of a file was written with a key at its position.
///
/// It works without a connection, and with libraries that do not have such a check.
package struct PageAuthenticator {
  package let format: SQLCipherFormat
  private let macKey: SecretBytes

  /// Derives the key of the authentication codes as SQLCipher does: PBKDF2 with two rounds and a masked salt.
  package init(key: DatabaseKey) throws(StoreAccessError) {
    format = key.format
    macKey = try Cryptography.pbkdf2(key.key, salt: key.salt.map { $0 ^ 0x3a }, rounds: 2, hash: key.format.hash)
  }

  /// Returns whether the page was written as page `number`. Overwrites the bytes after the initialization vector.
  ///
  /// - Throws: An error if libcrypto fails, since an unchecked page is not a damaged one.
  package func isAuthentic(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) -> Bool {
    guard page.count == format.pageSize else { return false }
    let stored = Array(page[codeStart..<codeStart + format.hash.size])
    let code = try code(of: page, number: number)
    return code.withUnsafeBytes { first in stored.withUnsafeBytes { second in Cryptography.isEqual(first, second) } }
  }

  /// Writes the authentication code of an encrypted page after its initialization vector. The page must have the format's size.
  func authenticate(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) {
    let code = try code(of: page, number: number)
    UnsafeMutableRawBufferPointer(rebasing: page[codeStart...]).copyBytes(from: code)
  }

  /// The offset of the authentication code, which also covers the initialization vector.
  private var codeStart: Int { format.pageSize - format.reservedBytes + Cryptography.blockSize }

  /// Returns the code of a page's content, vector and number. The number is written at the offset of the code.
  private func code(of page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) -> [UInt8] {
    for index in 0..<4 { page[codeStart + index] = UInt8(truncatingIfNeeded: number >> UInt32(8 * index)) }
    let start = number == 1 ? DatabaseKey.saltSize : 0
    return try Cryptography.hmac(macKey, UnsafeRawBufferPointer(rebasing: page[start..<codeStart + 4]), hash: format.hash)
  }
}
