import CProcessor

/// Forces a word to be stored as a whole, although only one bit of it has changed.
///
/// Without this, the compiler stores only the changed byte. A processor cannot forward a partial store to a load of the whole word, so the
/// next load waits until the store and all earlier ones have completed. For a fault that was fired, that takes about 40 ns, more than
/// everything else.
enum FullWordStore {
  @inline(__always) static func of(_ word: Int) -> Int {
    Int(truncatingIfNeeded: cipherdata_opaque(UInt64(truncatingIfNeeded: word)))
  }
  @inline(__always) static func of(_ word: UInt32) -> UInt32 { UInt32(truncatingIfNeeded: cipherdata_opaque(UInt64(word))) }
}
