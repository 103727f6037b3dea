import StoreKeys
import SyncCore

/// Parses the hexadecimal bytes of a published vector.
func hex(_ text: String) -> [UInt8] {
  var (bytes, digits): ([UInt8], [UInt8]) = ([], [])
  for character in text {
    guard let digit = character.hexDigitValue else { continue }
    digits.append(UInt8(digit))
    if digits.count == 2 {
      bytes.append(digits[0] << 4 | digits[1])
      digits = []
    }
  }
  return bytes
}

extension SecretBytes {
  var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

extension Digest {
  var bytes: [UInt8] { allWords.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } } }
}

/// A random number generator that yields the same sequence in every run (SplitMix64).
struct FixedGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
