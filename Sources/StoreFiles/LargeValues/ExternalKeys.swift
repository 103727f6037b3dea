import Foundation
package import StoreKeys

/// The keys of a store's files, derived from its data key and salt: with the data key they change all, names too.
package struct ExternalKeys: Sendable {
  private let names: SecretBytes
  private let contents: SecretBytes

  package init(_ key: DatabaseKey) throws {
    let root = try Cryptography.derivedKey(from: key.key, purpose: "CipherData external data", context: key.salt)
    names = try Cryptography.derivedKey(from: root, purpose: "CipherData external names")
    contents = try Cryptography.derivedKey(from: root, purpose: "CipherData external contents")
  }

  /// The name of a value's file: 32 hexadecimal digits that tell nobody without the key anything.
  package func name(_ id: Int64) throws -> String {
    let code = try Cryptography.hmac(names, Self.bytes(id), hash: .sha256).prefix(16)
    return code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The key of one file: of its value's number and its own salt.
  func key(_ id: Int64, salt: [UInt8]) throws -> SecretBytes {
    try Cryptography.derivedKey(from: contents, purpose: "CipherData external file", context: Self.bytes(id) + salt)
  }

  /// A random number for a new value.
  package static func newID() throws -> Int64 {
    let bytes = try Cryptography.randomBytes(8)
    let number = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } >> 1
    return number == 0 ? try newID() : Int64(number)
  }

  private static func bytes(_ id: Int64) -> [UInt8] { withUnsafeBytes(of: id.littleEndian) { Array($0) } }
}
