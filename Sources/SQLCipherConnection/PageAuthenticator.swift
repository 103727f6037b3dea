// Checks a page's authentication code ourselves: without a connection's side effects, and on libraries that have no such check.

/// Knows whether a page as it stands in the file was written with a key, at this place of the file.
struct PageAuthenticator {
  let format: SQLCipherFormat
  private let macKey: SecretBytes

  /// Derives the key of the codes as SQLCipher does: two rounds over the key with the salt masked.
  init(key: DatabaseKey) throws(StoreAccessError) {
    format = key.format
    macKey = try Cryptography.pbkdf2(key.key, salt: key.salt.map { $0 ^ 0x3a }, rounds: 2, hash: key.format.hash)
  }

  /// Whether the page is what was written as page `number`. The bytes behind the initialization vector are overwritten.
  func isAuthentic(_ page: UnsafeMutableRawBufferPointer, number: UInt32) -> Bool {
    let start = number == 1 ? DatabaseKey.saltSize : 0
    let end = format.pageSize - format.reservedBytes + 16  // the code covers the initialization vector too
    guard page.count == format.pageSize else { return false }
    let size = format.hash.size
    let stored = Array(page[end..<end + size])
    for index in 0..<4 { page[end + index] = UInt8(truncatingIfNeeded: number >> UInt32(8 * index)) }
    let message = UnsafeRawBufferPointer(rebasing: page[start..<end + 4])
    guard let code = try? Cryptography.hmac(macKey, message, hash: format.hash) else { return false }
    return code.withUnsafeBytes { first in stored.withUnsafeBytes { second in Cryptography.isEqual(first, second) } }
  }
}
