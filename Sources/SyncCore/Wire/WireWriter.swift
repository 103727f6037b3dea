/// Encodes values as bytes: integers in groups of 7 bits, the lowest first (zigzag if they are signed), texts and byte strings after their
/// lengths.
package struct WireWriter {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// - Parameter capacity: About how many bytes will be written.
  package init(capacity: Int) { bytes.reserveCapacity(capacity) }

  package mutating func write(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  package mutating func write(_ value: Int64) { write(UInt64(bitPattern: value << 1 ^ value >> 63)) }

  /// Writes a number of fixed length, for values whose bits are random.
  package mutating func writeFixed(_ value: UInt64) {
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }

  package mutating func write(_ string: some Collection<UInt8>) {
    write(UInt64(string.count))
    bytes += string
  }

  package mutating func write(_ text: String) { write(text.utf8) }

  package mutating func write(_ digest: Digest) {
    for word in digest.allWords { writeFixed(word) }
  }

  package mutating func write(_ id: RecordID) {
    writeFixed(id.high)
    writeFixed(id.low)
  }

  package mutating func write(_ stamp: Stamp) {
    write(stamp.time.value)
    writeFixed(stamp.device.value)
  }
}
