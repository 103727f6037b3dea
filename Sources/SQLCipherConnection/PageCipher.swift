// PageCipher: opens and makes encrypted pages without SQLite, as SQLCipher does.

import Foundation

/// Pages of a database with its key: AES-256-CBC, a random initialization vector, and a code over both.
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

  /// The first page begins with the salt, which is not encrypted.
  private func content(_ page: UnsafeMutableRawBufferPointer, _ number: UInt32) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: page[(number == 1 ? DatabaseKey.saltSize : 0)..<contentEnd])
  }

  /// Decrypts a page in place; false, with nothing decrypted, where it is not what was written as page `number`.
  package func open(_ page: UnsafeMutableRawBufferPointer, number: UInt32) -> Bool {
    guard authenticator.isAuthentic(page, number: number) else { return false }
    let vector = Array(page[contentEnd..<contentEnd + Cryptography.blockSize])
    return Cryptography.decrypt(content(page, number), key: key, vector: vector)
  }

  /// Encrypts a page in place; what stands where vector and code belong is overwritten.
  package func seal(_ page: UnsafeMutableRawBufferPointer, number: UInt32) -> Bool {
    guard page.count == format.pageSize, let vector = try? Cryptography.randomBytes(Cryptography.blockSize),
      Cryptography.encrypt(content(page, number), key: key, vector: vector)
    else { return false }
    page[contentEnd...].copyBytes(from: vector)
    return authenticator.authenticate(page, number: number)
  }

  /// Makes an encrypted page that holds zeros.
  func sealZeros(into page: UnsafeMutableRawBufferPointer, number: UInt32) -> Bool {
    page.initializeMemory(as: UInt8.self, repeating: 0)
    return seal(page, number: number)
  }
}

extension UnsafeMutableRawBufferPointer.SubSequence {
  /// Writes bytes at the beginning.
  fileprivate func copyBytes(from bytes: [UInt8]) {
    UnsafeMutableRawBufferPointer(rebasing: self).copyBytes(from: bytes)
  }
}
