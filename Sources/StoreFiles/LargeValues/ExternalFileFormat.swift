import Foundation
import StoreKeys

/// The layout of the file of a large value. `Documentation/FileFormat.md` describes it.
enum ExternalFileFormat {
  static let magic = Array("CipherDX".utf8)
  static let version: UInt16 = 1
  static let chunkBits = 16
  static let chunkSize = 1 << chunkBits
  static let saltSize = 32
  static let headerSize = 8 + 2 + 1 + 1 + saltSize
  /// The size of the field with the actual size, at the end of the padded content.
  static let trailerSize = 8
  /// The minimum padded size. Smaller values cannot be distinguished by their file sizes.
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

  /// Returns the size to which content and trailer are padded by the PADMÉ scheme. It reveals only the magnitude and a few bits of the
  /// size, and adds at most 12 %.
  static func paddedSize(_ count: Int) -> Int {
    let size = max(count + trailerSize, minimumPaddedSize)
    let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
    let kept = Int.bitWidth - exponent.leadingZeroBitCount
    let mask = (1 << (exponent - kept)) - 1
    return (size + mask) & ~mask
  }

  /// Returns the number of chunks in a file, and the size of the last chunk's content, or `nil` if the file size is not possible.
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
