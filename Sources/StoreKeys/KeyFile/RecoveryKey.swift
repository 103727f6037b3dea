/// Prints and parses recovery keys: 32 bytes as eight groups of eight characters, each group with check digits.
package enum RecoveryKey {
  /// Crockford's base 32, without I, L, O and U.
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let groups = 8

  /// Returns the printed form. A `String` cannot be wiped, so do not keep it.
  package static func text(for key: SecretBytes) throws(StoreAccessError) -> String {
    guard key.count == 4 * groups else {
      throw StoreAccessError(.invalidKey(.length(expected: 4 * groups, found: key.count)), path: nil, operation: .printRecoveryKey)
    }
    let words = key.withUnsafeBytes { bytes in
      (0..<groups).map { group in (0..<4).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[4 * group + $1]) } }
    }
    return words.enumerated().map { group, word in
      let bits = word << 8 | check(word, group)
      return String(decoding: (0..<8).map { alphabet[Int(bits >> UInt64(35 - 5 * $0)) & 31] }, as: UTF8.self)
    }.joined(separator: "-")
  }

  /// Parses the printed form. The error for a mistyped key contains the number of the group.
  package static func parse(_ text: String) throws(StoreAccessError) -> SecretBytes {
    var text = text
    return try text.withUTF8 { utf8 in
      Result { () throws(StoreAccessError) in try parse(UnsafeRawBufferPointer(utf8)) }
    }.get()
  }

  /// Parses the printed form in UTF-8. No bytes are copied to memory other than that of the returned secret.
  package static func parse(_ text: UnsafeRawBufferPointer) throws(StoreAccessError) -> SecretBytes {
    var count = 0
    for character in text where !isSeparator(character) {
      guard digit(character) != nil else { throw malformed(.recoveryKeyCharacter) }
      count += 1
    }
    guard count == 8 * groups else { throw malformed(.recoveryKeyLength(count, expected: 8 * groups)) }
    return try SecretBytes(count: 4 * groups) { (bytes) throws(StoreAccessError) in
      var (bits, place) = (UInt64(0), 0)
      for character in text {
        guard !isSeparator(character), let digit = digit(character) else { continue }
        bits = bits << 5 | digit
        place += 1
        guard place.isMultiple(of: 8) else { continue }
        let (word, group) = (bits >> 8, place / 8 - 1)
        guard bits & 0xff == check(word, group) else { throw malformed(.recoveryKeyGroup(group + 1)) }
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: word).bigEndian, toByteOffset: 4 * group, as: UInt32.self)
        bits = 0
      }
    }
  }

  private static func isSeparator(_ character: UInt8) -> Bool {
    switch character {
    case 0x20, 0x2d, 0x0a, 0x0d, 0x09: true
    default: false
    }
  }

  private static func digit(_ character: UInt8) -> UInt64? {
    let upper = (0x61...0x7a).contains(character) ? character - 0x20 : character
    switch upper {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return alphabet.firstIndex(of: upper).map(UInt64.init)
    }
  }

  /// Returns 8 check bits of a group and its position, so that swapped groups are detected too (CRC-8, polynomial 0x07).
  private static func check(_ word: UInt64, _ group: Int) -> UInt64 {
    var register: UInt8 = 0xa5
    // The group's number, followed by the four bytes of the word.
    let checked = UInt64(group) << 32 | word & 0xffff_ffff
    for shift in stride(from: UInt64(32), through: 0, by: -8) {
      register ^= UInt8(truncatingIfNeeded: checked >> shift)
      for _ in 0..<8 { register = register & 0x80 != 0 ? register << 1 ^ 0x07 : register << 1 }
    }
    return UInt64(register)
  }

  private static func malformed(_ why: StoreAccessError.MalformedKey) -> StoreAccessError {
    StoreAccessError(.invalidKey(.malformed(why)), path: nil, operation: .readRecoveryKey)
  }
}
