// RowImage: one immutable row, the representation that every layer shares.
public import Foundation
public import ObjectModel

/// An immutable row: an 8-byte word for each slot, null bits, and text and bytes behind them.
///
/// It is at once the row cache's entry, a fault's data, the snapshot for conflicts and rollback, and what a save hands to the store. Layout from its
/// base: size (4 bytes; its highest bit says that values of the row cannot be read), entity number (2), slot count (2), key (6), the offset from the begin of the chunk's rows in units of 8 bytes (2), version (8), the words, the null bits in 8-byte words, then texts. The word of a
/// text or of bytes is its offset from the base (low half) and its length (high half). Large values may be outside: their word has the length 0 and, with the
/// highest bit of the low half set, their number in the chunk. A value that is none of its attribute's type is null here; where there is one, the row ends
/// with as many words as the null bits have, whose bits say which these are.
@frozen public struct RowImage: @unchecked Sendable {  // points into immutable memory that the chunk keeps alive
  @usableFromInline let chunk: RowChunk
  /// Where the row begins; valid as long as the image is held.
  public let base: UnsafeRawPointer

  @inlinable init(chunk: RowChunk, base: UnsafeRawPointer) {
    self.chunk = chunk
    self.base = base
  }

  /// The offset of the first word from the base.
  @inlinable public static var wordsOffset: Int { 24 }

  /// The version of a new row. SQLite stores 0 and 1 in no bytes: a row that began with one of them would grow with its first change, and pages that are
  /// full would be split.
  @inlinable package static var firstVersion: Int64 { 2 }

  /// The bit of the size that says that some slots cannot be read.
  @usableFromInline static var unreadableFlag: UInt32 { 0x8000_0000 }

  /// Whether the values of some slots cannot be read.
  package var hasUnreadableSlots: Bool { RowImage.hasUnreadableSlots(base) }

  /// The bytes that the row occupies.
  @inlinable public var size: Int { RowImage.size(base) }
  /// The number of the row's own entity.
  @inlinable public var entityNumber: Int { Int(base.load(fromByteOffset: 4, as: UInt16.self)) }
  /// The number of slots.
  @inlinable public var slotCount: Int { RowImage.slotCount(base) }
  /// The key.
  @inlinable public var key: Int64 { RowImage.key(base) }
  /// The version, which grows with each save of the row; 0 when the store keeps none.
  @inlinable public var version: Int64 { RowImage.version(base) }
  /// The entity and key as one word.
  @inlinable public var reference: ObjectReference { RowImage.reference(base) }

  /// The word of a slot as it stands.
  @inlinable public func word(_ slot: Int) -> Int64 { RowImage.word(base, slot) }

  /// Whether a slot has no value.
  @inlinable public func isNull(_ slot: Int) -> Bool { RowImage.isNull(base, slot) }

  /// Whether a slot without a value is one whose stored value is none of its attribute's type.
  ///
  /// - Parameters:
  ///   - row: The base of an image.
  ///   - slot: The slot.
  @inlinable public static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    let size = row.load(as: UInt32.self)
    return size & unreadableFlag != 0 && isMarked(row, slot)
  }

  @usableFromInline static func isMarked(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    let size = Int(row.load(as: UInt32.self) & ~unreadableFlag)
    let words = (Int(row.load(fromByteOffset: 6, as: UInt16.self)) + 63) / 64
    let bits = row.loadUnaligned(fromByteOffset: size - words * 8 + slot / 64 * 8, as: UInt64.self)
    return bits >> UInt64(slot % 64) & 1 != 0
  }

  /// Whether a slot without a value is one whose stored value is none of its attribute's type: no read may take it for an empty one.
  package func isUnreadable(_ slot: Int) -> Bool { RowImage.isUnreadable(base, slot) }

  /// An integer; 0 when there is none.
  @inlinable public func int(_ slot: Int) -> Int64 { word(slot) }

  /// A floating-point number; 0 when there is none.
  @inlinable public func real(_ slot: Int) -> Double { RowImage.real(base, slot) }

  /// The destination of a to-one relationship; null when there is none.
  @inlinable public func reference(_ slot: Int) -> ObjectReference { ObjectReference(rawValue: word(slot)) }

  /// The large value that a slot of the kind `bytes` refers to; nil where its bytes are in the row, or it has none.
  public func external(_ slot: Int) -> ExternalData? {
    let word = word(slot)
    guard RowImage.isOfExternal(word) else { return nil }
    let number = Int(word & 0x7FFF_FFFF)
    return number < chunk.externals.count && !isNull(slot) ? chunk.externals[number] : nil
  }

  /// The UTF-8 or plain bytes of a slot, valid as long as the image is held; empty when there are none, or they are outside the row (``external(_:)``).
  @inlinable public func bytes(_ slot: Int) -> UnsafeRawBufferPointer { RowImage.bytes(base, slot) }

  /// The text of a slot; empty when there is none. One string is made on each call. Bytes that are not UTF-8 show as U+FFFD.
  @inlinable public func string(_ slot: Int) -> String {
    String(decoding: bytes(slot), as: UTF8.self)
  }

  /// The bytes of a slot as data; empty when there are none.
  ///
  /// - Throws: ``StoreError`` where the value is outside the row and cannot be read.
  public func data(_ slot: Int) throws -> Data { try external(slot)?.data() ?? Data(bytes(slot)) }

  @inline(__always) private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var (offset, bits) = (0, UInt64(0))
    while offset &+ 8 <= bytes.count {
      bits |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    while offset < bytes.count {
      bits |= UInt64(bytes[offset])
      offset &+= 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  /// Bytes as the text that they are in UTF-8; nil where they are none.
  ///
  /// To decode and compare takes a third of what `String(validating:as:)` takes of short texts, and no more than to decode of long ones.
  package static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    // Nothing of ASCII is mended.
    if isASCII(bytes) { return text }
    let isSame = text.utf8.withContiguousStorageIfAvailable { decoded in
      guard decoded.count == bytes.count else { return false }
      guard let first = decoded.baseAddress, let other = bytes.baseAddress else { return true }
      return memcmp(first, other, decoded.count) == 0
    }
    return isSame ?? text.utf8.elementsEqual(bytes) ? text : nil
  }

  /// Whether a slot has the same value as in another row of the entity. Large values that a store keeps are not read: one that was written anew is another,
  /// and that of an older row may not be there any more.
  package func hasSameValue(_ index: Int, kind: SlotKind, as other: RowImage) -> Bool {
    if kind == .bytes {
      let (mine, theirs) = (external(index), other.external(index))
      if let mine, let theirs, mine.isIdentical(to: theirs) { return true }
      for external in [mine, theirs] { if let external, !(external.content is ExternalBytes) { return false } }
    }
    return hasSameContent(index, kind: kind, as: other)
  }

  /// Whether a slot has a value that can be read, or none, and the same as in another row of the entity.
  func hasSameContent(_ index: Int, kind: SlotKind, as other: RowImage) -> Bool {
    guard let mine = try? slot(index, kind: kind), let theirs = try? other.slot(index, kind: kind) else { return false }
    return mine == theirs
  }

  /// The value of a slot, whose kind the entity says; null only where there is none.
  ///
  /// - Throws: ``StoreError`` where the value is outside the row and cannot be read, where a text is no UTF-8, and where what is stored is of another type.
  public func slot(_ index: Int, kind: SlotKind) throws -> Slot {
    if isNull(index) {
      if isUnreadable(index) { throw StoreError(.unreadableSlot, operation: .read) }
      return .null
    }
    switch kind {
    case .int, .reference: return .int(word(index))
    case .real: return .real(real(index))
    case .text:
      guard let text = RowImage.text(bytes(index)) else { throw StoreError(.unreadableSlot, operation: .read) }
      return .text(text)
    case .bytes: return .bytes(try data(index))
    case .none: return .null
    }
  }

  /// The value of a slot of an entity; null only where there is none.
  ///
  /// Only bytes and failures look at the slot's description, whose copy costs retains; a number asks for its kind alone.
  ///
  /// - Parameters:
  ///   - index: The slot.
  ///   - entity: The row's entity.
  ///   - objectID: The object that an error names, asked only then.
  /// - Throws: ``StoreError`` that names the property where what is stored is no value of its type.
  package func value(_ index: Int, of entity: CompiledEntity, _ objectID: @autoclosure () -> ManagedObjectID?) throws -> Slot {
    let kind = entity.kinds[index]
    if isNull(index) {
      if !isUnreadable(index) { return .null }
    } else if kind == .bytes {
      let (data, type) = (try data(index), entity.slots[index].attributeType)
      if type == .decimal ? DecimalCoding.isCoding(data) : type != .uuid || data.count == 16 { return .bytes(data) }
    } else if kind != .text {
      return try slot(index, kind: kind)
    } else if let text = RowImage.text(bytes(index)) {
      return .text(text)
    }
    throw StoreError(.unreadableValue(entity: entity.name, property: entity.slots[index].name, objectID()), operation: .read)
  }
}

#if CIPHERDATA_CHECKS
  extension RowImage {
    /// The row lies in its chunk, its texts lie behind its words and in itself, and its null bits are those of its slots.
    package func _checkInvariants(kinds: [SlotKind]) {
      checkInvariant(RowImage.chunk(of: base).takeUnretainedValue() === chunk, "row \(key) does not find its chunk")
      let (start, chunkStart) = (UInt(bitPattern: base), UInt(bitPattern: chunk.memory))
      checkInvariant(start % 8 == 0, "row \(key) is not aligned")
      checkInvariant(start >= chunkStart && start + UInt(size) <= chunkStart + UInt(chunk.capacity), "row \(key) leaves its chunk")
      checkInvariant(slotCount == kinds.count, "row \(key) has \(slotCount) slots, its entity \(kinds.count)")
      let nullWords = (slotCount + 63) / 64
      let fixedSize = RowImage.wordsOffset + (slotCount + nullWords) * 8
      let isMarked = base.load(as: UInt32.self) & RowImage.unreadableFlag != 0
      checkInvariant(size >= fixedSize + (isMarked ? nullWords * 8 : 0), "row \(key) is shorter than its words")
      for slot in kinds.indices { checkInvariant(isNull(slot) || !isUnreadable(slot), "slot \(slot) of row \(key) can and cannot be read") }
      if slotCount % 64 != 0 {
        let last = base.load(fromByteOffset: RowImage.wordsOffset + slotCount * 8 + (nullWords - 1) * 8, as: UInt64.self)
        let others = UInt64.max << UInt64(slotCount % 64)
        checkInvariant(last & others == others, "row \(key) has slots that its entity does not have")
      }
      for (slot, kind) in kinds.enumerated() {
        if isNull(slot) {
          checkInvariant(word(slot) == 0, "slot \(slot) of row \(key) is null and has a word")
        } else if kind == .text || (kind == .bytes && external(slot) == nil) {
          let word = UInt64(bitPattern: word(slot))
          let (offset, count) = (Int(word & 0xFFFF_FFFF), Int(word >> 32))
          checkInvariant(offset >= fixedSize && offset + count <= size, "slot \(slot) of row \(key) leaves the row")
        } else {
          checkInvariant(kind != .none, "slot \(slot) of row \(key) has a value that no store keeps")
        }
      }
    }
  }
#endif
