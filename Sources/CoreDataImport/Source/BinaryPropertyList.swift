import Foundation

/// Validates the object types in a binary property list before Foundation parses it. Foundation crashes on sets and on the references of
/// keyed archives, which no metadata contains.
enum BinaryPropertyList {
  private static let magic = Data("bplist".utf8)
  private static let trailerSize = 32
  /// The object types by the upper half of their first byte: null and booleans, integers, reals, dates, data, two kinds of strings, arrays,
  /// dictionaries.
  private static let known: Set<UInt8> = [0x0, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0xA, 0xD]

  /// Returns whether the bytes are another form of property list, or contain known object types only.
  static func isHarmless(_ list: Data) -> Bool {
    let bytes = [UInt8](list)
    guard bytes.starts(with: magic) else { return true }
    guard bytes.count >= magic.count + trailerSize else { return false }
    let trailer = bytes.count - trailerSize
    func number(_ start: Int, _ size: Int) -> UInt64 { bytes[start..<start + size].reduce(0) { $0 << 8 | UInt64($1) } }
    let offsetSize = Int(bytes[trailer + 6])
    let (count, table) = (number(trailer + 8, 8), number(trailer + 24, 8))
    guard (1...8).contains(offsetSize), table < UInt64(trailer), count <= (UInt64(trailer) - table) / UInt64(offsetSize) else {
      return false
    }
    for index in 0..<Int(count) {
      let offset = number(Int(table) + index * offsetSize, offsetSize)
      guard offset < table, known.contains(bytes[Int(offset)] >> 4) else { return false }
    }
    return true
  }
}
