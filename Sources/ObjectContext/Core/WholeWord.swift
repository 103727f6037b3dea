// WholeWord: words that are stored whole though a bit of them has changed.
import CProcessor

/// Keeps the compiler from storing the one byte of a word in which a bit has changed. A processor that loads the word soon after has to wait until that byte
/// has reached the memory, behind all that was stored before it, since it cannot put the word together from a store and from memory: some 40 ns for a fault
/// that was fired, and more than the rest of it.
enum WholeWord {
  @inline(__always) static func of(_ word: Int) -> Int {
    Int(truncatingIfNeeded: cipherdata_opaque(UInt64(truncatingIfNeeded: word)))
  }
  @inline(__always) static func of(_ word: UInt32) -> UInt32 { UInt32(truncatingIfNeeded: cipherdata_opaque(UInt64(word))) }
}
