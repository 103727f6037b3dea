public import Foundation
public import ObjectModel

/// An immutable row, shared by all layers: one 8-byte word a slot, then null bits, then text and bytes.
///
/// The same image serves as the row cache's entry, the data of an object, the snapshot for conflicts and rollback, and the row that a save
/// passes to the store.
///
/// The layout from ``base``:
///
/// - Size: 4 bytes. Its highest bit says that some values of the row cannot be read.
/// - Entity number: 2 bytes.
/// - Slot count: 2 bytes.
/// - Key: 6 bytes.
/// - Offset of the row in its chunk, in units of 8 bytes: 2 bytes.
/// - Version: 8 bytes.
/// - One word a slot. For text and bytes, the low half is the offset from the base and the high half the length. For a value stored outside
///   the row, the length is 0, and the low half has its highest bit set and contains the index of the value in the chunk.
/// - The null bits, in 8-byte words.
/// - Text and bytes.
/// - If some values cannot be read, as many words as for the null bits, with a bit set for each such slot. These slots are also marked as
///   null. A value cannot be read if it is not of its attribute's type.
@frozen public struct RowImage: @unchecked Sendable {  // points into immutable memory that the chunk keeps alive
  @usableFromInline let chunk: RowChunk
  /// The address of the row, valid as long as the image is held.
  public let base: UnsafeRawPointer

  @inlinable init(chunk: RowChunk, base: UnsafeRawPointer) {
    self.chunk = chunk
    self.base = base
  }

  /// The offset of the first word from the base.
  @inlinable public static var wordsOffset: Int { 24 }

  /// The version of a new row.
  ///
  /// SQLite stores the integers 0 and 1 without any bytes. A row that started with one of them would grow with its first update and could
  /// split a full page.
  @inlinable package static var firstVersion: Int64 { 2 }

  /// The bit of the size field that is set if some slots cannot be read.
  @usableFromInline static var unreadableFlag: UInt32 { 0x8000_0000 }

  /// Whether any slot has a stored value that cannot be read.
  package var hasUnreadableSlots: Bool { RowImage.hasUnreadableSlots(base) }

  /// The size of the row in bytes.
  @inlinable public var size: Int { RowImage.size(base) }
  /// The number of the row's entity.
  @inlinable public var entityNumber: Int { Int(base.load(fromByteOffset: 4, as: UInt16.self)) }
  /// The number of slots.
  @inlinable public var slotCount: Int { RowImage.slotCount(base) }
  /// The key of the row.
  @inlinable public var key: Int64 { RowImage.key(base) }
  /// The version of the row, which increases with each save, or 0 if the store keeps no versions.
  @inlinable public var version: Int64 { RowImage.version(base) }
  /// The entity and key, packed into one word.
  @inlinable public var reference: ObjectReference { RowImage.reference(base) }

  /// Returns the unconverted word of a slot.
  @inlinable public func word(_ slot: Int) -> Int64 { RowImage.word(base, slot) }

  /// Returns whether a slot is null.
  @inlinable public func isNull(_ slot: Int) -> Bool { RowImage.isNull(base, slot) }

  /// Returns whether a null slot has a stored value that is not of its attribute's type.
  ///
  /// - Parameters:
  ///   - row: The base of an image.
  ///   - slot: A slot that is null.
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

  /// Returns whether a null slot has a stored value that is not of its attribute's type. Readers must not treat such a slot as empty.
  package func isUnreadable(_ slot: Int) -> Bool { RowImage.isUnreadable(base, slot) }

  /// Returns the integer of a slot, or 0 if the slot is null.
  @inlinable public func int(_ slot: Int) -> Int64 { word(slot) }

  /// Returns the floating-point number of a slot, or 0 if the slot is null.
  @inlinable public func real(_ slot: Int) -> Double { RowImage.real(base, slot) }

  /// Returns the destination of a to-one relationship, or the null reference if there is none.
  @inlinable public func reference(_ slot: Int) -> ObjectReference { ObjectReference(rawValue: word(slot)) }

  /// Returns the external value of a slot of the kind `bytes`, or nil if its bytes are in the row or the slot is null.
  public func external(_ slot: Int) -> ExternalData? {
    let word = word(slot)
    guard RowImage.refersToExternalValue(word) else { return nil }
    let number = Int(word & 0x7FFF_FFFF)
    return number < chunk.externals.count && !isNull(slot) ? chunk.externals[number] : nil
  }

  /// Returns the bytes of a slot (UTF-8 for text), valid as long as the image is held. Empty if the slot is null or its value is external
  /// (``external(_:)``).
  @inlinable public func bytes(_ slot: Int) -> UnsafeRawBufferPointer { RowImage.bytes(base, slot) }

  /// Returns the text of a slot, or an empty string if the slot is null. Each call creates a string. Invalid UTF-8 is replaced by U+FFFD.
  @inlinable public func string(_ slot: Int) -> String {
    String(decoding: bytes(slot), as: UTF8.self)
  }

  /// Returns the bytes of a slot, or empty data if the slot is null.
  ///
  /// - Throws: ``StoreError`` if the value is external and cannot be read.
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

  private static func areSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard one.count == other.count else { return false }
    guard let first = one.baseAddress, let second = other.baseAddress else { return true }
    return memcmp(first, second, one.count) == 0
  }

  /// Returns bytes decoded as UTF-8, or nil if they are not valid.
  ///
  /// For short texts, decoding and comparing takes a third of the time of `String(validating:as:)`. For long texts it takes no more.
  package static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    // Decoding never repairs ASCII.
    if isASCII(bytes) { return text }
    let isSame = text.utf8.withContiguousStorageIfAvailable { areSame(UnsafeRawBufferPointer($0), bytes) }
    return isSame ?? text.utf8.elementsEqual(bytes) ? text : nil
  }

  /// Returns whether a slot has the same value as in another row of the entity. Values that cannot be read differ from all others.
  ///
  /// Large values in a store are not read: a value that was written again counts as different, and the value of an older row may no longer
  /// exist.
  package func hasSameValue(_ index: Int, kind: SlotKind, as other: RowImage) -> Bool {
    if isUnreadable(index) || other.isUnreadable(index) { return false }
    if isNull(index) || other.isNull(index) { return isNull(index) && other.isNull(index) }
    switch kind {
    case .int, .reference, .none: return word(index) == other.word(index)
    // NaN does not equal itself; compare the bits.
    case .real: return word(index) == other.word(index) || real(index) == other.real(index)
    case .text, .bytes:
      let (mine, theirs) = kind == .bytes ? (external(index), other.external(index)) : (nil, nil)
      if mine == nil, theirs == nil { return RowImage.areSame(bytes(index), other.bytes(index)) }
      if let mine, let theirs, mine.isIdentical(to: theirs) { return true }
      for external in [mine, theirs] { if let external, !(external.content is ExternalBytes) { return false } }
      return hasSameContent(index, kind: kind, as: other)
    }
  }

  /// Returns a copy of the row with some values replaced, and some copied from another row. Large values are not read.
  ///
  /// - Parameters:
  ///   - values: The new values, by slot.
  ///   - slots: The slots to copy from the other row.
  ///   - other: A row that has these slots.
  ///   - entity: An entity whose slots are those of the row, or the first of them. Only these are copied.
  ///   - version: The version; nil for the row's own.
  ///   - writer: The writer to which the row is added.
  package func edited(
    _ values: [Int: Slot] = [:], taking slots: SlotMask = SlotMask(), from other: RowImage? = nil, of entity: CompiledEntity,
    version: Int64? = nil, into writer: RowWriter = RowWriter(rowCapacity: 1)
  ) -> RowImage {
    writer.beginRow(entityNumber: entityNumber, slotCount: slotCount, key: key, version: version ?? self.version)
    for (index, kind) in entity.kinds.enumerated() where kind != .none {
      if let value = values[index] {
        writer.set(value, at: index)
      } else if let other, slots.contains(index) {
        writer.copy(index, kind: kind, from: other)
      } else {
        writer.copy(index, kind: kind, from: self)
      }
    }
    return writer.endRow()
  }

  /// Returns whether a slot is readable in both rows and has the same content, comparing the bytes of external values.
  func hasSameContent(_ index: Int, kind: SlotKind, as other: RowImage) -> Bool {
    guard let mine = try? slot(index, kind: kind), let theirs = try? other.slot(index, kind: kind) else { return false }
    return mine == theirs
  }

  /// Returns the value of a slot of the given kind. Returns null only if there is no stored value.
  ///
  /// - Throws: ``StoreError`` if the value is external and cannot be read, a text is not valid UTF-8, or the stored value is of another
  ///   type.
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

  /// Returns the value of a slot of an entity. Returns null only if there is no stored value.
  ///
  /// Only bytes and errors read the slot's description, whose copy costs retains.
  ///
  /// - Parameter objectID: The object that an error names, evaluated only then.
  /// - Throws: ``StoreError`` with the name of the property if the stored value is not of its type.
  package func value(_ index: Int, of entity: CompiledEntity, _ objectID: @autoclosure () -> ManagedObjectID?) throws -> Slot {
    let kind = entity.kinds[index]
    if isNull(index) {
      if !isUnreadable(index) { return .null }
    } else if kind == .bytes {
      let data = try data(index)
      if entity.slots[index].attributeType?.traits.accepts(data) ?? true { return .bytes(data) }
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
    /// Checks that the row is inside its chunk, its text is behind its words and inside the row, and its null bits match its slots.
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
          checkInvariant(kind != .none, "slot \(slot) of row \(key) has a value that cannot be stored")
        }
      }
    }
  }
#endif

// MARK: - Rows by address

// Access to rows by address, with manual retain and release. Objects and row caches store only the address of a row.

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

// MARK: - Chunks of rows

/// A block of memory that contains row images and lives as long as any of them.
///
/// Chunks can be shared safely: one ``RowWriter`` writes each row before it vends an image of it, and the row's bytes do not change
/// afterwards. Later rows in the same chunk use other bytes. If rows of a chunk have external values, no rows are added after images of it
/// were vended.
public final class RowChunk: @unchecked Sendable {  // the bytes of a row are immutable once an image of it exists
  /// The start of the rows. The chunk's own address is stored before it, so that a row's address leads to its chunk.
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let capacity: Int
  /// The external values of the chunk's rows, which refer to them by index.
  final var externals: [ExternalData] = []

  @usableFromInline init(capacity: Int) {
    self.capacity = capacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: Self.headSize + capacity, alignment: 8) + Self.headSize
    // Unretained: the chunk of a row is looked up only by holders of the row, which keep the chunk alive.
    (memory - Self.headSize).storeBytes(of: Unmanaged.passUnretained(self).toOpaque(), as: UnsafeMutableRawPointer.self)
  }

  deinit { (memory - Self.headSize).deallocate() }

  /// The number of bytes before the rows.
  @usableFromInline static var headSize: Int { 8 }

  /// The capacity in bytes of a chunk for many rows: 32 KiB, so that little is wasted after the last row.
  @usableFromInline static var standardCapacity: Int { 32_768 }

  /// The capacity in bytes of a chunk for rows that are read individually. A row that is held keeps at most this much memory alive.
  static var smallCapacity: Int { 4_096 }

  /// The upper bound of the offset at which a row can start: 16 bits of a row's key word encode the offset in units of 8 bytes.
  @usableFromInline static var endOfStarts: Int { 8 << 16 }
}
