import Foundation

/// Encrypts and decrypts the pages of a database as SQLCipher does: AES-256-CBC, a random initialization vector, and an authentication code
/// of both.
package struct PageCipher {
  private let key: SecretBytes
  private let format: SQLCipherFormat
  private let authenticator: PageAuthenticator

  package init(key: DatabaseKey) throws(StoreAccessError) {
    self.key = key.key
    format = key.format
    authenticator = try PageAuthenticator(key: key)
  }

  private var contentEnd: Int { format.pageSize - format.reservedBytes }

  /// Returns the encrypted content of a page. The first page starts with the unencrypted salt.
  private func content(_ page: UnsafeMutableRawBufferPointer, _ number: UInt32) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: page[(number == 1 ? DatabaseKey.saltSize : 0)..<contentEnd])
  }

  /// Decrypts a page in place. Returns `false` and decrypts nothing if it was not written as page `number`.
  package func open(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) -> Bool {
    guard try authenticator.isAuthentic(page, number: number) else { return false }
    let vector = Array(page[contentEnd..<contentEnd + Cryptography.blockSize])
    guard Cryptography.decrypt(content(page, number), key: key, vector: vector) else { throw Cryptography.failure("AES-CBC") }
    return true
  }

  /// Encrypts a page in place, and writes the vector and the authentication code at its end.
  package func seal(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) {
    let vector = try Cryptography.randomBytes(Cryptography.blockSize)
    guard page.count == format.pageSize, Cryptography.encrypt(content(page, number), key: key, vector: vector) else {
      throw Cryptography.failure("AES-CBC")
    }
    page[contentEnd...].copyBytes(from: vector)
    try authenticator.authenticate(page, number: number)
  }

  /// Writes an encrypted page of zeros.
  package func sealZeros(into page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) {
    page.initializeMemory(as: UInt8.self, repeating: 0)
    try seal(page, number: number)
  }
}

extension UnsafeMutableRawBufferPointer.SubSequence {
  fileprivate func copyBytes(from bytes: [UInt8]) {
    UnsafeMutableRawBufferPointer(rebasing: self).copyBytes(from: bytes)
  }
}

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
