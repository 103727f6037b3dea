// RowWriter: packs rows into chunks, one slot after the other.
import Foundation
public import ObjectModel

/// Packs rows into chunks: begin a row, set its slots in any order, end it.
///
/// A slot that is not set is null. The writer is not `Sendable`; the images and lists that it makes are.
public final class RowWriter {
  // One caller at a time writes, since a writer is not `Sendable`, and nothing here calls back; the checks would cost more
  // than writing a word.
  @exclusivity(unchecked) @usableFromInline final var chunk: RowChunk
  @exclusivity(unchecked) @usableFromInline final var chunks: [RowChunk]
  /// The chunk of the last row of others that was put into the list.
  @exclusivity(unchecked) private final var lastHeldChunk: UnsafeMutableRawPointer?
  @exclusivity(unchecked) @usableFromInline final var rows: ContiguousArray<RowList.Address>
  /// Where the current row begins in the chunk, and where the next bytes go.
  @exclusivity(unchecked) @usableFromInline final var rowStart = 0
  @exclusivity(unchecked) @usableFromInline final var position = 0
  @exclusivity(unchecked) @usableFromInline final var slotCount = 0
  /// How many rows had been ended when the chunk began.
  private final var firstOfChunk = 0
  /// The slots of the current row whose stored values are none of their types.
  @exclusivity(unchecked) @usableFromInline final var unreadable = SlotMask()

  /// How large a chunk gets for rows that are not large themselves.
  private let chunkLimit: Int

  /// Who knows the large values outside the rows, for a store that reads such rows.
  // Asked for each row; exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) package final var externals: AnyObject?

  /// Starts with an empty chunk.
  ///
  /// - Parameter rowCapacity: The rows expected, for the list's reservation and the first chunk. Chunks grow with the rows, since one row that is
  ///   kept keeps its chunk.
  public init(rowCapacity: Int = 0) {
    chunkLimit = RowChunk.standardCapacity
    chunk = RowChunk(capacity: min(max(rowCapacity * 192, 256), chunkLimit))
    chunks = [chunk]
    rows = []
    rows.reserveCapacity(rowCapacity)
  }

  /// A writer for rows that are read one at a time and are in no list: small chunks, one after the other. See ``forgetRows()``.
  package init(ofSingleRows: Void) {
    chunkLimit = RowChunk.smallCapacity
    chunk = RowChunk(capacity: chunkLimit)
    chunks = [chunk]
    rows = []
  }

  /// Begins a row with all slots null.
  ///
  /// - Parameters:
  ///   - entityNumber: The entity's number in the compiled model.
  ///   - slotCount: How many slots the entity has.
  ///   - key: The row's key.
  ///   - version: The row's version.
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

  /// Begins a row with all values of another one that lies in memory as a row does, and has no values outside.
  ///
  /// - Parameters:
  ///   - row: Where that row begins.
  ///   - size: Its bytes.
  ///   - slotCount: How many slots it has.
  ///   - key: The new row's key.
  ///   - version: The new row's version.
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
  /// Sets a to-one relationship; the null reference leaves it null.
  @inlinable public func setReference(_ value: ObjectReference, at slot: Int) {
    if !value.isNull { store(value.rawValue, at: slot) }
  }

  /// Sets a text (UTF-8) or bytes by copying them; at most 4 GiB less the row's other bytes.
  @inlinable public func setBytes(_ bytes: UnsafeRawBufferPointer, at slot: Int) {
    let count = bytes.count
    if position &+ count > chunk.capacity { moveToNewChunk(adding: count) }
    if let source = bytes.baseAddress { (chunk.memory + position).copyMemory(from: source, byteCount: count) }
    let word = UInt64(count) &<< 32 | UInt64(truncatingIfNeeded: position &- rowStart)
    store(Int64(bitPattern: word), at: slot)
    position &+= count
  }

  /// Copies bytes behind the row, and gives the word that finds them: for a reader that stores words and null bits itself.
  @inlinable package func appendBytes(_ bytes: UnsafeRawBufferPointer) -> Int64 {
    let count = bytes.count
    if position &+ count > chunk.capacity { moveToNewChunk(adding: count) }
    if let source = bytes.baseAddress { (chunk.memory + position).copyMemory(from: source, byteCount: count) }
    let word = UInt64(count) &<< 32 | UInt64(truncatingIfNeeded: position &- rowStart)
    position &+= count
    return Int64(bitPattern: word)
  }

  /// Stores a word without touching the null bits.
  @inlinable package func storeWord(_ word: Int64, at slot: Int) {
    chunk.memory.storeBytes(of: word, toByteOffset: rowStart &+ RowImage.wordsOffset &+ slot &* 8, as: Int64.self)
  }

  /// Stores the word of a slot that has a value.
  @inlinable package func setWord(_ word: Int64, at slot: Int) { store(word, at: slot) }

  /// Stores the null bits of a row of up to 64 slots; those of slots that have a value are 0.
  @inlinable package func storeNulls(_ bits: UInt64) {
    chunk.memory.storeBytes(of: bits, toByteOffset: rowStart &+ RowImage.wordsOffset &+ slotCount &* 8, as: UInt64.self)
  }

  /// Sets a large value whose bytes stay outside the row.
  public func setExternal(_ value: ExternalData, at slot: Int) {
    store(0x8000_0000 | Int64(chunk.externals.count), at: slot)
    chunk.externals.append(value)
  }

  /// Notes a large value, and gives the word that finds it: for a reader that stores words and null bits itself.
  package func appendExternal(_ value: ExternalData) -> Int64 {
    chunk.externals.append(value)
    return 0x8000_0000 | Int64(chunk.externals.count - 1)
  }

  /// Sets a string.
  @inlinable public func setString(_ value: String, at slot: Int) {
    var value = value
    value.withUTF8 { setBytes(UnsafeRawBufferPointer($0), at: slot) }
  }

  /// Sets any value; null leaves the slot null.
  public func set(_ value: Slot, at slot: Int) {
    switch value {
    case .null: break
    case .int(let value): setInt(value, at: slot)
    case .real(let value): setReal(value, at: slot)
    case .text(let value): setString(value, at: slot)
    case .bytes(let value): value.withUnsafeBytes { setBytes($0, at: slot) }
    }
  }

  /// Leaves a slot null, and notes that this is because what is stored is no value of its type: whoever reads it is told.
  @usableFromInline package func setUnreadable(_ slot: Int) { unreadable.insert(slot) }

  /// Copies a slot of another row of the same layout.
  ///
  /// - Parameters:
  ///   - slot: The slot.
  ///   - kind: What the slot holds.
  ///   - image: The row that it is copied from.
  @inlinable public func copy(_ slot: Int, kind: SlotKind, from image: RowImage) {
    if image.isNull(slot) {
      if RowImage.isUnreadable(image.base, slot) { setUnreadable(slot) }
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

  /// Ends the row.
  @inlinable @discardableResult public func endRow() -> RowImage {
    closeRow()
    return RowImage(chunk: chunk, base: UnsafeRawPointer(chunk.memory + rowStart))
  }

  /// Ends the row, and makes no image of it: for who reads many.
  @inlinable @inline(__always) package func closeRow() {
    rows.append(RowList.Address(sealRow()))
  }

  /// Notes how long the row has become; gives where it begins.
  @inlinable @inline(__always) func sealRow() -> UnsafeRawPointer {
    let flag = unreadable.isEmpty ? 0 : appendUnreadable()
    let row = chunk.memory + rowStart
    row.storeBytes(of: UInt32(truncatingIfNeeded: position &- rowStart) | flag, as: UInt32.self)
    return UnsafeRawPointer(row)
  }

  /// Puts a row that somebody holds into the list as it is, with none begun.
  package func append(heldRow row: UnsafeRawPointer) {
    let held = RowImage.chunk(of: row)
    // Rows that were read together lie in one chunk.
    if held.toOpaque() != lastHeldChunk {
      lastHeldChunk = held.toOpaque()
      chunks.append(held.takeUnretainedValue())
    }
    rows.append(RowList.Address(row))
  }

  /// Writes behind the row which of its slots cannot be read; the flag that says so.
  @usableFromInline final func appendUnreadable() -> UInt32 {
    let words = [unreadable.low] + (1..<max((slotCount + 63) / 64, 1)).map { $0 <= unreadable.high.count ? unreadable.high[$0 - 1] : 0 }
    words.withUnsafeBytes { _ = appendBytes($0) }
    unreadable = SlotMask()
    return RowImage.unreadableFlag
  }

  /// Ends a row that is in no list: its image is all that there is of it.
  package func endRowAlone() -> RowImage { RowImage(chunk: chunk, base: sealRow()) }

  /// Gives up the row that was begun.
  @inlinable public func abandonRow() {
    position = rowStart
    unreadable = SlotMask()
  }

  /// The bytes of texts and data in the row so far.
  @inlinable public var currentRowSize: Int { position &- rowStart }

  /// The rows ended so far.
  @inlinable public var count: Int { rows.count }

  /// Forgets the rows that were ended, with none begun: whoever has an image of one keeps its memory.
  ///
  /// Those that follow share their chunk, unless they have large values: images of these look them up in the chunk.
  package func forgetRows() {
    // Nobody writes there any more, not even who gives up a row that he has not begun.
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
    lastHeldChunk = nil
  }

  /// All rows that were ended, in order.
  public func finish() -> RowList { RowList(chunks: chunks, rows: rows) }

  /// All rows that were ended, in order. What the last chunk has too much is given back, which moves its rows: nobody may have an image of one.
  package func finishCompactly() -> RowList {
    guard chunk.capacity - position >= Self.worthGivingBack else { return finish() }
    let compact = RowChunk(capacity: position)
    compact.memory.copyMemory(from: chunk.memory, byteCount: position)
    compact.externals = chunk.externals
    let (first, end) = (UnsafeRawPointer(chunk.memory), UnsafeRawPointer(chunk.memory + position))
    // Rows of others lie among them.
    for index in firstOfChunk..<rows.count where rows[index].row >= first && rows[index].row < end {
      rows[index] = RowList.Address(UnsafeRawPointer(compact.memory) + (rows[index].row - first))
    }
    chunks.removeAll { $0 === chunk }
    chunks.append(compact)
    chunk = compact
    return finish()
  }

  /// Behind so many chunks those that follow are twice as large: each wastes what is left behind its last row.
  private static var chunksOfManyRows: Int { 16 }

  /// So many bytes are worth the copy of a chunk.
  private static var worthGivingBack: Int { 1_024 }

  /// The row being written moves to a new chunk with room for `count` more bytes.
  @usableFromInline func moveToNewChunk(adding count: Int) {
    let written = position - rowStart
    let needed = written + count
    let limit = chunks.count < Self.chunksOfManyRows ? chunkLimit : chunkLimit * 2
    let next = RowChunk(capacity: max(min(chunk.capacity * 4, limit), needed + 256))
    next.memory.copyMemory(from: chunk.memory + rowStart, byteCount: written)
    // The row's words hold numbers in this list.
    next.externals = chunk.externals
    // A row that is begun already lies elsewhere now.
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
