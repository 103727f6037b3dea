// ExternalFileFormat: the bytes of a large value's file: header, sizes, padding; and the keys and names of a store's files.

import Foundation

/// How the file of a large value is laid out. `Documentation/FileFormat.md` describes it.
enum ExternalFileFormat {
  static let magic = Array("CipherDX".utf8)
  static let version: UInt16 = 1
  static let chunkBits = 16
  static let chunkSize = 1 << chunkBits
  static let saltSize = 32
  static let headerSize = 8 + 2 + 1 + 1 + saltSize
  /// The true size, at the end of the padded content.
  static let trailerSize = 8
  /// No file says that a value is smaller than this.
  static let minimumPaddedSize = 4096

  static func header(salt: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(magic)
    writer.append(version)
    writer.append(UInt8(chunkBits))
    writer.append(UInt8(0))
    writer.append(salt)
    return writer.bytes
  }

  /// The size that content and trailer are padded to: PADMÉ, which tells of a size no more than its magnitude and a few bits, for at most 12 % more.
  static func paddedSize(_ count: Int) -> Int {
    let size = max(count + trailerSize, minimumPaddedSize)
    let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
    let kept = Int.bitWidth - exponent.leadingZeroBitCount
    let mask = (1 << (exponent - kept)) - 1
    return (size + mask) & ~mask
  }

  /// The chunks of a file of so many bytes, and the size of the last one's content; nil where no file has that size.
  static func chunks(fileSize: Int) -> (count: Int, lastSize: Int)? {
    let body = fileSize - headerSize
    let whole = chunkSize + Cryptography.tagSize
    guard body > 0 else { return nil }
    let rest = body % whole
    if rest == 0 { return (body / whole, chunkSize) }
    let lastSize = rest - Cryptography.tagSize
    return lastSize >= trailerSize ? (body / whole + 1, lastSize) : nil
  }
}

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
