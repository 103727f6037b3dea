// RowImage+Holding: rows held by their addresses alone, as objects and row caches hold theirs.
public import ObjectModel

extension RowImage {
  /// The key of a row.
  @inlinable package static func key(_ row: UnsafeRawPointer) -> Int64 { (row.load(fromByteOffset: 8, as: Int64.self) &<< 16) &>> 16 }

  /// What a row stands for.
  @inlinable package static func reference(_ row: UnsafeRawPointer) -> ObjectReference {
    ObjectReference(
      rawValue: Int64(row.load(fromByteOffset: 4, as: UInt16.self)) &<< 48 | row.load(fromByteOffset: 8, as: Int64.self) & 0xFFFF_FFFF_FFFF)
  }

  /// The version of a row.
  @inlinable package static func version(_ row: UnsafeRawPointer) -> Int64 { row.load(fromByteOffset: 16, as: Int64.self) }

  /// The bytes of a row.
  @inlinable package static func size(_ row: UnsafeRawPointer) -> Int { Int(row.load(as: UInt32.self) & ~unreadableFlag) }

  /// The number of slots of a row.
  @inlinable package static func slotCount(_ row: UnsafeRawPointer) -> Int { Int(row.load(fromByteOffset: 6, as: UInt16.self)) }

  /// Whether the values of some slots of a row cannot be read.
  @inlinable package static func hasUnreadableSlots(_ row: UnsafeRawPointer) -> Bool { row.load(as: UInt32.self) & unreadableFlag != 0 }

  /// The word of a slot of a row as it stands.
  @inlinable package static func word(_ row: UnsafeRawPointer, _ slot: Int) -> Int64 {
    row.load(fromByteOffset: wordsOffset &+ slot &* 8, as: Int64.self)
  }

  /// Whether a word is one of a large value outside the row, of the slots that may have such.
  @inline(__always) static func isOfExternal(_ word: Int64) -> Bool {
    UInt64(bitPattern: word) & 0xFFFF_FFFF_8000_0000 == 0x8000_0000
  }

  /// Whether one of some slots looks as if its value were outside the row; false says that none is.
  package static func mayHaveExternals(_ row: UnsafeRawPointer, at slots: [Int]) -> Bool {
    slots.contains { isOfExternal(word(row, $0)) }
  }

  /// A floating-point number of a row; 0 when there is none.
  @inlinable package static func real(_ row: UnsafeRawPointer, _ slot: Int) -> Double {
    row.load(fromByteOffset: wordsOffset &+ slot &* 8, as: Double.self)
  }

  /// Whether a slot of a row has no value.
  @inlinable package static func isNull(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    let slotCount = slotCount(row)
    let bits = row.load(fromByteOffset: wordsOffset &+ slotCount &* 8 &+ (slot &>> 6) &* 8, as: UInt64.self)
    return bits &>> UInt64(slot & 63) & 1 != 0
  }

  /// The text's or plain bytes of a slot of a row, valid as long as somebody holds it.
  @inlinable package static func bytes(_ row: UnsafeRawPointer, _ slot: Int) -> UnsafeRawBufferPointer {
    let word = UInt64(bitPattern: word(row, slot))
    return UnsafeRawBufferPointer(start: row + Int(word & 0xFFFF_FFFF), count: Int(word &>> 32))
  }

  /// The word that stands for a row's key and the place of the row in its chunk.
  @inlinable static func keyWord(_ key: Int64, offset: Int) -> Int64 {
    Int64(truncatingIfNeeded: offset) &<< 45 | key & 0xFFFF_FFFF_FFFF
  }

  /// Gives a row another key. Only for rows that nobody else has seen yet.
  static func setKey(_ key: Int64, of row: UnsafeMutableRawPointer) {
    let place = row.load(fromByteOffset: 8, as: UInt64.self) & ~0xFFFF_FFFF_FFFF
    row.storeBytes(of: place | UInt64(bitPattern: key) & 0xFFFF_FFFF_FFFF, toByteOffset: 8, as: UInt64.self)
  }

  /// The chunk of a row that somebody holds.
  // Before a chunk's rows stands its address, and it lives as long as one of its rows is held: that makes `Unmanaged` sound.
  @inlinable static func chunk(of row: UnsafeRawPointer) -> Unmanaged<RowChunk> {
    let offset = Int(row.load(fromByteOffset: 8, as: UInt64.self) &>> 48) &* 8
    let address = (row - (offset &+ RowChunk.headSize)).load(as: UnsafeRawPointer.self)
    return Unmanaged.fromOpaque(address)  // the chunk's own, alive as its row
  }

  /// The image of a row that somebody holds.
  ///
  /// - Parameter row: Where it begins.
  @inlinable package init(heldRow row: UnsafeRawPointer) {
    self.init(chunk: RowImage.chunk(of: row).takeUnretainedValue(), base: row)
  }

  /// Holds the row until ``letGo(_:)``; where it begins is all that whoever holds it has to keep.
  @inlinable package consuming func hold() -> UnsafeRawPointer {
    _ = Unmanaged.passRetained(chunk)  // a reference of its own, which `letGo` gives back
    return base
  }

  /// Holds a row that somebody holds once more.
  // A reference of its own, which ``letGo(_:)`` gives back.
  @inlinable package static func hold(_ row: UnsafeRawPointer) { _ = chunk(of: row).retain() }

  /// Lets go of a row that was held.
  @inlinable package static func letGo(_ row: UnsafeRawPointer) { chunk(of: row).release() }
}
