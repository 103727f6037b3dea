/// Names in XML 1.0, fifth edition (productions 4 and 4a), which the parser accepts.
enum XMLName {
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, contains(starts, first) else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy { contains(starts, $0) || contains(others, $0) }
  }

  private static func contains(_ ranges: [ClosedRange<UInt32>], _ scalar: Unicode.Scalar) -> Bool {
    ranges.contains { $0 ~= scalar.value }
  }

  /// The characters that can start a name.
  private static let starts: [ClosedRange<UInt32>] = [
    0x3A...0x3A, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF,
    0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF,
  ]
  /// The additional characters in the rest of a name.
  private static let others: [ClosedRange<UInt32>] = [0x2D...0x2E, 0x30...0x39, 0xB7...0xB7, 0x300...0x36F, 0x203F...0x2040]
}
