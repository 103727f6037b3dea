import Foundation
import StoreKeys

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
