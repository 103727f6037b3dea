import Foundation
public import ObjectModel

/// Packs rows into chunks: begin a row, set its slots in any order, end it.
///
/// Slots that are not set are null. The writer is not `Sendable`; the images and lists that it creates are.
public final class RowWriter {
  // Exclusivity is unchecked: a writer is not `Sendable`, so one caller writes at a time, and nothing here calls back. The checks would
  // cost more than writing a word.
  @exclusivity(unchecked) @usableFromInline final var chunk: RowChunk
  @exclusivity(unchecked) @usableFromInline final var chunks: [RowChunk]
  /// The chunk of the most recently appended row of another writer.
  @exclusivity(unchecked) private final var lastRetainedChunk: UnsafeMutableRawPointer?
  @exclusivity(unchecked) @usableFromInline final var rows: ContiguousArray<RowList.Address>
  /// The offset of the current row in the chunk. `position` is the offset of the next byte.
  @exclusivity(unchecked) @usableFromInline final var rowStart = 0
  @exclusivity(unchecked) @usableFromInline final var position = 0
  @exclusivity(unchecked) @usableFromInline final var slotCount = 0
  /// The number of rows that were ended before the chunk was begun.
  private final var firstOfChunk = 0
  /// The slots of the current row whose stored values are not of their types.
  @exclusivity(unchecked) @usableFromInline final var unreadable = SlotMask()

  /// The maximum capacity of a chunk in bytes, unless a single row is larger.
  private let chunkLimit: Int

  /// The provider of external values, for stores that read rows with such values.
  // Read once a row; exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) package final var externals: AnyObject?

  /// Creates a writer with an empty chunk.
  ///
  /// - Parameter rowCapacity: The expected number of rows, used for the list's reservation and the size of the first chunk. Chunks grow
  ///   with the number of rows, because a single retained row keeps its whole chunk alive.
  public init(rowCapacity: Int = 0) {
    chunkLimit = RowChunk.standardCapacity
    chunk = RowChunk(capacity: min(max(rowCapacity * 192, 256), chunkLimit))
    chunks = [chunk]
    rows = []
    rows.reserveCapacity(rowCapacity)
  }

  /// Creates a writer for rows that are read individually and are in no list. It uses small chunks. See ``removeAllRows()``.
  package init(ofSingleRows: Void) {
    chunkLimit = RowChunk.smallCapacity
    chunk = RowChunk(capacity: chunkLimit)
    chunks = [chunk]
    rows = []
  }

  /// Begins a row with all slots null.
  ///
  /// - Parameters:
  ///   - entityNumber: The number of the entity in the compiled model.
  ///   - slotCount: The number of slots of the entity.
  ///   - key: The key of the row.
  ///   - version: The version of the row.
  @inlinable public func beginRow(entityNumber: Int, slotCount: Int, key: Int64, version: Int64) {
    let nullWords = (slotCount &+ 63) &>> 6
    let fixed = RowImage.wordsOffset &+ (slotCount &+ nullWords) &* 8
    rowStart = (position &+ 7) & ~7
    position = rowStart
    self.slotCount = slotCount
    if rowStart &+ fixed > chunk.capacity || rowStart >= RowChunk.endOfStarts { moveToNewChunk(adding: fixed) }
    let base = chunk.memory + rowStart
    base.storeBytes(of: UInt16(truncatingIfNeeded: entityNumber), toByteOffset: 4, as: UInt16.self)
    base.storeBytes(of: UInt16(truncatingIfNeeded: slotCount), toByteOffset: 6, as: UInt16.self)
    base.storeBytes(of: RowImage.keyWord(key, offset: rowStart), toByteOffset: 8, as: Int64.self)
    base.storeBytes(of: version, toByteOffset: 16, as: Int64.self)
    var offset = RowImage.wordsOffset
    for _ in 0..<slotCount {
      base.storeBytes(of: 0, toByteOffset: offset, as: Int64.self)
      offset &+= 8
    }
    for _ in 0..<nullWords {
      base.storeBytes(of: UInt64.max, toByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    position = rowStart &+ fixed
  }

  /// Begins a row as a copy of memory that has the layout of a row and the given number of bytes. The source must have no external values.
  package func beginRow(copying row: UnsafeRawPointer, size: Int, slotCount: Int, key: Int64, version: Int64) {
    rowStart = (position &+ 7) & ~7
    position = rowStart
    self.slotCount = slotCount
    if rowStart &+ size > chunk.capacity || rowStart >= RowChunk.endOfStarts { moveToNewChunk(adding: size) }
    let base = chunk.memory + rowStart
    base.copyMemory(from: row, byteCount: size)
    base.storeBytes(of: RowImage.keyWord(key, offset: rowStart), toByteOffset: 8, as: Int64.self)
    base.storeBytes(of: version, toByteOffset: 16, as: Int64.self)
    position = rowStart &+ size
  }

  @inlinable final func store(_ word: Int64, at slot: Int) {
    let base = chunk.memory + rowStart
    base.storeBytes(of: word, toByteOffset: RowImage.wordsOffset &+ slot &* 8, as: Int64.self)
    let nulls = base + (RowImage.wordsOffset &+ slotCount &* 8 &+ (slot &>> 6) &* 8)
    let bits = nulls.load(as: UInt64.self) & ~(1 &<< UInt64(slot & 63))
    nulls.storeBytes(of: bits, as: UInt64.self)
  }

  /// Sets an integer or a boolean.
  @inlinable public func setInt(_ value: Int64, at slot: Int) { store(value, at: slot) }
  /// Sets a floating-point number or a date.
  @inlinable public func setReal(_ value: Double, at slot: Int) { store(Int64(bitPattern: value.bitPattern), at: slot) }
  /// Sets a to-one relationship. The null reference leaves the slot null.
  @inlinable public func setReference(_ value: ObjectReference, at slot: Int) {
    if !value.isNull { store(value.rawValue, at: slot) }
  }

  /// Sets text (UTF-8) or bytes by copying them. The whole row must be smaller than 2 GiB.
  @inlinable public func setBytes(_ bytes: UnsafeRawBufferPointer, at slot: Int) {
    let count = bytes.count
    if position &+ count > chunk.capacity { moveToNewChunk(adding: count) }
    if let source = bytes.baseAddress { (chunk.memory + position).copyMemory(from: source, byteCount: count) }
    let word = UInt64(count) &<< 32 | UInt64(truncatingIfNeeded: position &- rowStart)
    store(Int64(bitPattern: word), at: slot)
    position &+= count
  }

  /// Copies bytes behind the row and returns the word that refers to them. For readers that store words and null bits themselves.
  @inlinable package func appendBytes(_ bytes: UnsafeRawBufferPointer) -> Int64 {
    let count = bytes.count
    if position &+ count > chunk.capacity { moveToNewChunk(adding: count) }
    if let source = bytes.baseAddress { (chunk.memory + position).copyMemory(from: source, byteCount: count) }
    let word = UInt64(count) &<< 32 | UInt64(truncatingIfNeeded: position &- rowStart)
    position &+= count
    return Int64(bitPattern: word)
  }

  /// Stores a word without changing the null bits.
  @inlinable package func storeWord(_ word: Int64, at slot: Int) {
    chunk.memory.storeBytes(of: word, toByteOffset: rowStart &+ RowImage.wordsOffset &+ slot &* 8, as: Int64.self)
  }

  /// Stores the word of a slot and marks the slot as having a value.
  @inlinable package func setWord(_ word: Int64, at slot: Int) { store(word, at: slot) }

  /// Stores the null bits of a row of up to 64 slots. The bits of slots that have a value must be 0.
  @inlinable package func storeNulls(_ bits: UInt64) {
    chunk.memory.storeBytes(of: bits, toByteOffset: rowStart &+ RowImage.wordsOffset &+ slotCount &* 8, as: UInt64.self)
  }

  /// Sets an external value, whose bytes are not copied into the row.
  public func setExternal(_ value: ExternalData, at slot: Int) {
    store(0x8000_0000 | Int64(chunk.externals.count), at: slot)
    chunk.externals.append(value)
  }

  /// Adds an external value and returns the word that refers to it. For readers that store words and null bits themselves.
  package func appendExternal(_ value: ExternalData) -> Int64 {
    chunk.externals.append(value)
    return 0x8000_0000 | Int64(chunk.externals.count - 1)
  }

  /// Sets a string.
  @inlinable public func setString(_ value: String, at slot: Int) {
    var value = value
    value.withUTF8 { setBytes(UnsafeRawBufferPointer($0), at: slot) }
  }

  /// Sets a value of any kind. `null` leaves the slot null.
  public func set(_ value: Slot, at slot: Int) {
    switch value {
    case .null: break
    case .int(let value): setInt(value, at: slot)
    case .real(let value): setReal(value, at: slot)
    case .text(let value): setString(value, at: slot)
    case .bytes(let value): value.withUnsafeBytes { setBytes($0, at: slot) }
    }
  }

  /// Leaves a slot null and records that its stored value is not of its type, so that reading it throws.
  @usableFromInline package func markUnreadable(_ slot: Int) { unreadable.insert(slot) }

  /// Copies a slot from another row of the same layout.
  ///
  /// - Parameters:
  ///   - slot: The slot.
  ///   - kind: The kind of the slot.
  ///   - image: The row to copy from.
  @inlinable public func copy(_ slot: Int, kind: SlotKind, from image: RowImage) {
    if image.isNull(slot) {
      if RowImage.isUnreadable(image.base, slot) { markUnreadable(slot) }
      return
    }
    switch kind {
    case .int, .real, .reference: store(image.word(slot), at: slot)
    case .text: setBytes(image.bytes(slot), at: slot)
    case .bytes: copyBytes(slot, from: image)
    case .none: break
    }
  }

  @usableFromInline final func copyBytes(_ slot: Int, from image: RowImage) {
    if let external = image.external(slot) { setExternal(external, at: slot) } else { setBytes(image.bytes(slot), at: slot) }
  }

  /// Ends the row and returns its image.
  @inlinable @discardableResult public func endRow() -> RowImage {
    closeRow()
    return RowImage(chunk: chunk, base: UnsafeRawPointer(chunk.memory + rowStart))
  }

  /// Ends the row without creating an image. For callers that read many rows.
  @inlinable @inline(__always) package func closeRow() {
    rows.append(RowList.Address(sealRow()))
  }

  /// Stores the size of the row and returns its address.
  @inlinable @inline(__always) func sealRow() -> UnsafeRawPointer {
    let flag = unreadable.isEmpty ? 0 : appendUnreadable()
    let row = chunk.memory + rowStart
    row.storeBytes(of: UInt32(truncatingIfNeeded: position &- rowStart) | flag, as: UInt32.self)
    return UnsafeRawPointer(row)
  }

  /// Appends an existing row to the list without copying it. No row may be in progress, and the caller must hold the row.
  package func append(heldRow row: UnsafeRawPointer) {
    let retained = RowImage.chunk(of: row)
    // Rows that were read together share a chunk.
    if retained.toOpaque() != lastRetainedChunk {
      lastRetainedChunk = retained.toOpaque()
      chunks.append(retained.takeUnretainedValue())
    }
    rows.append(RowList.Address(row))
  }

  /// Appends the bits of the slots that cannot be read and returns the flag for the row's size.
  @usableFromInline final func appendUnreadable() -> UInt32 {
    let words = [unreadable.low] + (1..<max((slotCount + 63) / 64, 1)).map { $0 <= unreadable.high.count ? unreadable.high[$0 - 1] : 0 }
    words.withUnsafeBytes { _ = appendBytes($0) }
    unreadable = SlotMask()
    return RowImage.unreadableFlag
  }

  /// Ends the row and returns its image without adding the row to the list.
  package func endSingleRow() -> RowImage { RowImage(chunk: chunk, base: sealRow()) }

  /// Discards the current row.
  @inlinable public func abandonRow() {
    position = rowStart
    unreadable = SlotMask()
  }

  /// The size of the current row in bytes so far.
  @inlinable public var currentRowSize: Int { position &- rowStart }

  /// The number of rows that were ended.
  @inlinable public var count: Int { rows.count }

  /// Removes all rows from the list. No row may be in progress. Images of removed rows stay valid.
  ///
  /// Later rows use the same chunk unless its rows have external values, which their images look up in the chunk.
  package func removeAllRows() {
    // Protects the existing rows even from `abandonRow()` without `beginRow`.
    rowStart = position
    firstOfChunk = 0
    rows.removeAll(keepingCapacity: true)
    if !chunk.externals.isEmpty {
      chunk = RowChunk(capacity: chunkLimit)
      chunks = [chunk]
      (rowStart, position) = (0, 0)
    } else if chunks.count > 1 {
      chunks = [chunk]
    }
    lastRetainedChunk = nil
  }

  /// Returns all rows that were ended, in order.
  public func finish() -> RowList { RowList(chunks: chunks, rows: rows) }

  /// Returns all rows that were ended, in order, after trimming the last chunk. Trimming moves its rows, so no image of them may exist.
  package func finishCompactly() -> RowList {
    guard chunk.capacity - position >= Self.minimumReturnedSize else { return finish() }
    let compact = RowChunk(capacity: position)
    compact.memory.copyMemory(from: chunk.memory, byteCount: position)
    compact.externals = chunk.externals
    let (first, end) = (UnsafeRawPointer(chunk.memory), UnsafeRawPointer(chunk.memory + position))
    // The list may contain rows of other chunks in between.
    for index in firstOfChunk..<rows.count where rows[index].row >= first && rows[index].row < end {
      rows[index] = RowList.Address(UnsafeRawPointer(compact.memory) + (rows[index].row - first))
    }
    chunks.removeAll { $0 === chunk }
    chunks.append(compact)
    chunk = compact
    return finish()
  }

  /// The number of chunks after which the capacity limit doubles. Each chunk wastes the space behind its last row.
  private static var chunksOfManyRows: Int { 16 }

  /// The minimum number of unused bytes for which trimming a chunk pays off.
  private static var minimumReturnedSize: Int { 1_024 }

  /// Moves the current row to a new chunk with space for `count` more bytes.
  @usableFromInline func moveToNewChunk(adding count: Int) {
    let written = position - rowStart
    let needed = written + count
    let limit = chunks.count < Self.chunksOfManyRows ? chunkLimit : chunkLimit * 2
    let next = RowChunk(capacity: max(min(chunk.capacity * 4, limit), needed + 256))
    next.memory.copyMemory(from: chunk.memory + rowStart, byteCount: written)
    // Words that were already written contain indices into this array.
    next.externals = chunk.externals
    // The row's offset in its chunk has changed.
    if written > 0 {
      let key = RowImage.key(UnsafeRawPointer(next.memory))
      next.memory.storeBytes(of: RowImage.keyWord(key, offset: 0), toByteOffset: 8, as: Int64.self)
    }
    chunk = next
    chunks.append(next)
    firstOfChunk = rows.count
    rowStart = 0
    position = written
  }
}

/// A set of slot numbers. Entities with up to 64 slots need no heap memory.
public struct SlotMask: Sendable, Hashable {
  @usableFromInline var low: UInt64 = 0
  @usableFromInline var high: [UInt64] = []

  /// Creates an empty set.
  @inlinable public init() {}

  /// Creates a set of slots below 64 from a bit mask.
  package init(low: UInt64) { self.low = low }

  /// Creates a set of slots.
  package init(slots: some Sequence<Int>) { for slot in slots { insert(slot) } }

  /// Whether the set is empty.
  @inlinable public var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

  /// Returns whether a slot is in the set.
  @inlinable public func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low &>> UInt64(slot) & 1 != 0 }
    let word = slot / 64 - 1
    return word < high.count && high[word] &>> UInt64(slot % 64) & 1 != 0
  }

  /// Adds a slot.
  @inlinable public mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 &<< UInt64(slot)
    } else {
      let word = slot / 64 - 1
      while high.count <= word { high.append(0) }
      high[word] |= 1 &<< UInt64(slot % 64)
    }
  }

  /// Removes a slot.
  @inlinable public mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 &<< UInt64(slot))
    } else if slot / 64 - 1 < high.count {
      high[slot / 64 - 1] &= ~(1 &<< UInt64(slot % 64))
    }
  }

  /// Returns whether the sets have a slot in common.
  package func intersects(_ other: SlotMask) -> Bool {
    low & other.low != 0 || zip(high, other.high).contains { $0 & $1 != 0 }
  }

  /// Returns whether the set contains a slot that is not in another set.
  package func hasMore(than other: SlotMask) -> Bool {
    low & ~other.low != 0 || high.enumerated().contains { $1 & ~($0 < other.high.count ? other.high[$0] : 0) != 0 }
  }

  /// Adds the slots of another set.
  public mutating func formUnion(_ other: SlotMask) {
    low |= other.low
    for (word, bits) in other.high.enumerated() {
      if word < high.count { high[word] |= bits } else { high.append(bits) }
    }
  }

  /// Returns the slots of the set below a bound, in order.
  public func slots(below count: Int) -> [Int] { (0..<count).filter(contains) }
}
