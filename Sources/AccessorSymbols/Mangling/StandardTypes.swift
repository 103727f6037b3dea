/// The types of the standard library whose symbols are `S` and a letter.
enum StandardTypes {
  private static let letters: [String: Character] = [
    "AutoreleasingUnsafeMutablePointer": "A", "Array": "a", "Bool": "b", "Dictionary": "D", "Double": "d", "Float": "f", "Set": "h",
    "DefaultIndices": "I", "Int": "i", "Character": "J", "ClosedRange": "N", "Range": "n", "ObjectIdentifier": "O", "UnsafePointer": "P",
    "UnsafeMutablePointer": "p", "UnsafeBufferPointer": "R", "UnsafeMutableBufferPointer": "r", "String": "S", "Substring": "s",
    "UInt": "u", "UnsafeRawPointer": "V", "UnsafeMutableRawPointer": "v", "UnsafeRawBufferPointer": "W",
    "UnsafeMutableRawBufferPointer": "w", "Optional": "q", "BinaryFloatingPoint": "B", "Encodable": "E", "Decodable": "e",
    "FloatingPoint": "F", "RandomNumberGenerator": "G", "Hashable": "H", "Numeric": "j", "BidirectionalCollection": "K",
    "RandomAccessCollection": "k", "Comparable": "L", "Collection": "l", "MutableCollection": "M", "RangeReplaceableCollection": "m",
    "Equatable": "Q", "Sequence": "T", "IteratorProtocol": "t", "UnsignedInteger": "U", "RangeExpression": "X", "Strideable": "x",
    "RawRepresentable": "Y", "StringProtocol": "y", "SignedInteger": "Z", "BinaryInteger": "z",
  ]

  static func letter(of name: String) -> UInt8? { letters[name]?.asciiValue }
}
