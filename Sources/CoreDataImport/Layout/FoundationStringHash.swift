/// The result of `-[NSString hash]` for short strings, with which the encrypted Core Data store identifies the entities of a table.
///
/// CoreFoundation's sources publish the algorithm: a polynomial in 257 over the UTF-16 units, four at a time, with the fourth power
/// truncated to 32 bits, and a final shift by the length. Strings of more than 96 units are hashed partially; entity names are shorter.
enum FoundationStringHash {
  private static let powers: [UInt64] = [16_974_593, 66_049, 257, 1]
  private static let fourthPower: UInt64 = 67_503_105

  static func hash(_ text: String) -> UInt64 {
    let units = Array(text.utf16)
    let whole = units.count & ~3
    var result = UInt64(units.count)
    for start in stride(from: 0, to: whole, by: 4) {
      result = result &* fourthPower
      for place in 0..<4 { result = result &+ UInt64(units[start + place]) &* powers[place] }
    }
    for unit in units[whole...] { result = result &* 257 &+ UInt64(unit) }
    return result &+ (result << (UInt64(units.count) & 31))
  }
}
