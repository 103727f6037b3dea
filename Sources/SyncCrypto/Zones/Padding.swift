/// Padmé: rounds sizes up, so that they reveal little and grow by at most 12 %.
///
/// A size L becomes a multiple of 2^(E - S), where E = ⌊log2 L⌋ and S = ⌊log2 E⌋ + 1. From Nikitin, Barman, Lueks, Underwood, Hubaux and
/// Ford, "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs", Proceedings on Privacy Enhancing Technologies
/// 2019(4), algorithm 1.
enum Padding {
  static func paddedSize(of size: Int) -> Int {
    guard size > 1 else { return size }
    let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
    let zeroBits = exponent - (Int.bitWidth - exponent.leadingZeroBitCount)
    guard zeroBits > 0 else { return size }
    let mask = 1 << zeroBits - 1
    return (size + mask) & ~mask
  }
}
