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
