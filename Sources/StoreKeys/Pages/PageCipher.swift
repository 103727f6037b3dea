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
  package func open(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) -> Bool {
    guard try authenticator.isAuthentic(page, number: number) else { return false }
    let vector = Array(page[contentEnd..<contentEnd + Cryptography.blockSize])
    guard Cryptography.decrypt(content(page, number), key: key, vector: vector) else { throw Cryptography.failure("AES-CBC") }
    return true
  }

  /// Encrypts a page in place; what stands where vector and code belong is overwritten.
  package func seal(_ page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) {
    let vector = try Cryptography.randomBytes(Cryptography.blockSize)
    guard page.count == format.pageSize, Cryptography.encrypt(content(page, number), key: key, vector: vector) else {
      throw Cryptography.failure("AES-CBC")
    }
    page[contentEnd...].copyBytes(from: vector)
    try authenticator.authenticate(page, number: number)
  }

  /// Makes an encrypted page that holds zeros.
  package func sealZeros(into page: UnsafeMutableRawBufferPointer, number: UInt32) throws(StoreAccessError) {
    page.initializeMemory(as: UInt8.self, repeating: 0)
    try seal(page, number: number)
  }
}

extension UnsafeMutableRawBufferPointer.SubSequence {
  /// Writes bytes at the beginning.
  fileprivate func copyBytes(from bytes: [UInt8]) {
    UnsafeMutableRawBufferPointer(rebasing: self).copyBytes(from: bytes)
  }
}
