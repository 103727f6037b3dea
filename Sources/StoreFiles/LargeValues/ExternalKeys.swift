import Foundation
package import StoreKeys

/// The keys and names of the files of large values, derived from the store's data key and salt. A new data key changes all of them.
package struct ExternalKeys: Sendable {
  private let names: SecretBytes
  private let contents: SecretBytes

  package init(_ key: DatabaseKey) throws {
    let root = try Cryptography.derivedKey(from: key.key, purpose: "CipherData external data", context: key.salt)
    names = try Cryptography.derivedKey(from: root, purpose: "CipherData external names")
    contents = try Cryptography.derivedKey(from: root, purpose: "CipherData external contents")
  }

  /// Returns the name of a value's file: 32 hexadecimal digits that reveal nothing without the key.
  package func name(_ id: Int64) throws -> String {
    let code = try Cryptography.hmac(names, Self.bytes(id), hash: .sha256).prefix(16)
    return code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Returns the key of a file, derived from its value's number and its salt.
  func key(_ id: Int64, salt: [UInt8]) throws -> SecretBytes {
    try Cryptography.derivedKey(from: contents, purpose: "CipherData external file", context: Self.bytes(id) + salt)
  }

  /// Returns a random number for a new value.
  package static func newID() throws -> Int64 {
    let bytes = try Cryptography.randomBytes(8)
    let number = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } >> 1
    return number == 0 ? try newID() : Int64(number)
  }

  private static func bytes(_ id: Int64) -> [UInt8] { withUnsafeBytes(of: id.littleEndian) { Array($0) } }
}
