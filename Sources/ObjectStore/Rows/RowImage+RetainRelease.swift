// Access to rows by address, with manual retain and release. Objects and row caches store only the address of a row.
public import ObjectModel

extension RowImage {
  @inlinable package static func key(_ row: UnsafeRawPointer) -> Int64 { (row.load(fromByteOffset: 8, as: Int64.self) &<< 16) &>> 16 }

  /// Returns the entity and key of a row.
  @inlinable package static func reference(_ row: UnsafeRawPointer) -> ObjectReference {
    ObjectReference(
      rawValue: Int64(row.load(fromByteOffset: 4, as: UInt16.self)) &<< 48 | row.load(fromByteOffset: 8, as: Int64.self) & 0xFFFF_FFFF_FFFF)
  }

  @inlinable package static func version(_ row: UnsafeRawPointer) -> Int64 { row.load(fromByteOffset: 16, as: Int64.self) }

  /// Returns the number of bytes of a row.
  @inlinable package static func size(_ row: UnsafeRawPointer) -> Int { Int(row.load(as: UInt32.self) & ~unreadableFlag) }

  @inlinable package static func slotCount(_ row: UnsafeRawPointer) -> Int { Int(row.load(fromByteOffset: 6, as: UInt16.self)) }

  /// Returns whether any slot of a row has a stored value that cannot be read.
  @inlinable package static func hasUnreadableSlots(_ row: UnsafeRawPointer) -> Bool { row.load(as: UInt32.self) & unreadableFlag != 0 }

  /// Returns the unconverted word of a slot.
  @inlinable package static func word(_ row: UnsafeRawPointer, _ slot: Int) -> Int64 {
    row.load(fromByteOffset: wordsOffset &+ slot &* 8, as: Int64.self)
  }

  /// Returns whether a word refers to an external value. Valid only for slots that may have external values.
  @inline(__always) static func refersToExternalValue(_ word: Int64) -> Bool {
    UInt64(bitPattern: word) & 0xFFFF_FFFF_8000_0000 == 0x8000_0000
  }

  /// Returns false if no given slot has an external value. True may be a false positive.
  package static func mayHaveExternals(_ row: UnsafeRawPointer, at slots: [Int]) -> Bool {
    slots.contains { refersToExternalValue(word(row, $0)) }
  }

  /// Returns the floating-point number of a slot, or 0 if the slot is null.
  @inlinable package static func real(_ row: UnsafeRawPointer, _ slot: Int) -> Double {
    row.load(fromByteOffset: wordsOffset &+ slot &* 8, as: Double.self)
  }

  @inlinable package static func isNull(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    let slotCount = slotCount(row)
    let bits = row.load(fromByteOffset: wordsOffset &+ slotCount &* 8 &+ (slot &>> 6) &* 8, as: UInt64.self)
    return bits &>> UInt64(slot & 63) & 1 != 0
  }

  /// Returns the bytes of a slot (UTF-8 for text). They are valid as long as the row is held.
  @inlinable package static func bytes(_ row: UnsafeRawPointer, _ slot: Int) -> UnsafeRawBufferPointer {
    let word = UInt64(bitPattern: word(row, slot))
    return UnsafeRawBufferPointer(start: row + Int(word & 0xFFFF_FFFF), count: Int(word &>> 32))
  }

  /// Returns the word that combines a row's key with its offset in the chunk.
  @inlinable static func keyWord(_ key: Int64, offset: Int) -> Int64 {
    Int64(truncatingIfNeeded: offset) &<< 45 | key & 0xFFFF_FFFF_FFFF
  }

  /// Replaces the key of a row. Only for rows that are not shared yet.
  static func setKey(_ key: Int64, of row: UnsafeMutableRawPointer) {
    let place = row.load(fromByteOffset: 8, as: UInt64.self) & ~0xFFFF_FFFF_FFFF
    row.storeBytes(of: place | UInt64(bitPattern: key) & 0xFFFF_FFFF_FFFF, toByteOffset: 8, as: UInt64.self)
  }

  /// Returns the chunk of a row that is held.
  // `Unmanaged` is sound: the chunk's address precedes its rows, and the chunk lives as long as any of its rows is held.
  @inlinable static func chunk(of row: UnsafeRawPointer) -> Unmanaged<RowChunk> {
    let offset = Int(row.load(fromByteOffset: 8, as: UInt64.self) &>> 48) &* 8
    let address = (row - (offset &+ RowChunk.headSize)).load(as: UnsafeRawPointer.self)
    return Unmanaged.fromOpaque(address)  // the address of the chunk, which the row keeps alive
  }

  /// Creates an image of a row that is held.
  ///
  /// - Parameter row: The address of the row.
  @inlinable package init(heldRow row: UnsafeRawPointer) {
    self.init(chunk: RowImage.chunk(of: row).takeUnretainedValue(), base: row)
  }

  /// Retains the row and returns its address. Balance with ``release(_:)``.
  @inlinable package consuming func retain() -> UnsafeRawPointer {
    _ = Unmanaged.passRetained(chunk)  // balanced by `release`
    return base
  }

  /// Retains a row that is held once more. Balance with ``release(_:)``.
  @inlinable package static func retain(_ row: UnsafeRawPointer) { _ = chunk(of: row).retain() }

  /// Releases a row.
  @inlinable package static func release(_ row: UnsafeRawPointer) { chunk(of: row).release() }
}
