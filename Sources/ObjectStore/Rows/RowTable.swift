import CProcessor
import ObjectModel
import Synchronization

/// The cached rows of 512 neighboring keys of one entity tree.
///
/// A shared table is immutable: the row cache changes a table only if it holds the only reference, and copies it otherwise.
package final class RowTable: @unchecked Sendable {  // the entries are atomic, and the table owns their memory
  /// The number of entries.
  package static var size: Int { 512 }

  /// Manually allocated memory instead of an array: a large fetch enters every row here, and bounds and exclusivity checks would be
  /// measurable.
  package let entries: RowEntries

  init() { entries = .allocate() }

  convenience init(copying other: RowTable) {
    self.init()
    for index in 0..<Self.size {
      guard let row = other.entries[index].pointee.row else { continue }
      RowImage.retain(row)
      _ = entries.set(row, time: other.entries[index].pointee.time, at: index)
    }
  }

  deinit {
    for index in 0..<Self.size { if let row = entries[index].pointee.row { RowImage.release(row) } }
    entries.deallocate()
  }
}

/// The entries of 512 neighboring keys, preceded by one bit a key that is set if the key has a row.
///
/// Random lookups mostly miss. The bits of all pages fit in the processor's caches; the entries take 128 times as many bytes. A bit is set
/// after its row was stored and cleared before the row is removed. Otherwise bits follow the same access rules as entries.
package struct RowEntries {
  let start: UnsafeMutablePointer<RowEntry>

  private typealias Bits = Atomic<UInt64>
  private static var wordCount: Int { RowTable.size / 64 }

  init(_ start: UnsafeMutablePointer<RowEntry>) { self.start = start }

  /// Allocates entries without rows. Free them with ``deallocate()``.
  static func allocate() -> RowEntries {
    let bitsSize = wordCount * MemoryLayout<Bits>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: bitsSize + RowTable.size * MemoryLayout<RowEntry>.stride, alignment: 64)
    let bits = memory.bindMemory(to: Bits.self, capacity: wordCount)
    for word in 0..<wordCount { (bits + word).initialize(to: Bits(0)) }
    let start = (memory + bitsSize).bindMemory(to: RowEntry.self, capacity: RowTable.size)
    for index in 0..<RowTable.size { (start + index).initialize(to: RowEntry()) }
    return RowEntries(start)
  }

  /// Frees the entries. All rows must have been released.
  func deallocate() {
    start.deinitialize(count: RowTable.size)
    bits.deinitialize(count: Self.wordCount)
    UnsafeMutableRawPointer(bits).deallocate()
  }

  // `allocate` puts the words directly before the entries.
  @inline(__always) private var bits: UnsafeMutablePointer<Bits> {
    (UnsafeMutableRawPointer(start) - Self.wordCount * MemoryLayout<Bits>.stride).assumingMemoryBound(to: Bits.self)
  }

  @inline(__always) package subscript(index: Int) -> UnsafeMutablePointer<RowEntry> { start + index }

  /// Returns whether a key has a row, without reading its entry.
  @inline(__always) func hasRow(_ index: Int) -> Bool {
    bits[index &>> 6].load(ordering: .acquiring) &>> UInt64(index & 63) & 1 != 0
  }

  /// Calls the closure with the entry of a key if the key has a row.
  @inline(__always) func withEntry<Result>(at index: Int, _ body: (borrowing RowEntry) -> Result?) -> Result? {
    if hasRow(index) { return body(start[index]) }
    // After a miss the caller usually reads the row from the store and enters it here.
    cipherdata_prefetch(start + index)
    return nil
  }

  /// Stores a row that the caller has retained for the entry. Returns the previous row, which the caller must release.
  @inline(__always) func set(_ row: UnsafeRawPointer, time: UInt32, at index: Int) -> UnsafeRawPointer? {
    // Without a previous row the entry is only written, and the processor need not wait for its cache line.
    if hasRow(index) { return start[index].set(row, time: time) }
    start[index].put(row, time: time)
    change(index) { $0 | $1 }
    return nil
  }

  /// Removes a row and returns it. The caller must release it.
  func clear(_ index: Int) -> UnsafeRawPointer? {
    guard hasRow(index) else { return nil }
    change(index) { $0 & ~$1 }
    return start[index].clear()
  }

  /// Changes the bit of a key. Writers have exclusive access to the page, so a load and a store suffice.
  @inline(__always) private func change(_ index: Int, _ body: (UInt64, UInt64) -> UInt64) {
    let word = bits[index &>> 6].load(ordering: .relaxed)
    bits[index &>> 6].store(body(word, 1 &<< UInt64(index & 63)), ordering: .releasing)
  }
}

/// The address of a row, with copies of the fields that are compared when another version arrives: the row's own memory may not be in the
/// processor's caches.
///
/// Writes are guarded by the lock of the page's part. Registered readers of the part read without the lock; see ``RowCacheShard/retired``.
package struct RowEntry: ~Copyable {
  /// The address of the row, which the table retains, or 0 if there is none.
  private let address = Atomic<UInt>(0)
  private let lowVersion = Atomic<UInt32>(0)
  private let entered = Atomic<UInt32>(0)

  /// The address of the row, or nil if there is none.
  @inline(__always) package var row: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) }
  /// The low half of the row's version.
  package var version: UInt32 { lowVersion.load(ordering: .relaxed) }
  /// The time at which the row was entered, in hundredths of a second of a clock of this process. If the time is read before the row, the
  /// row is at least as new.
  var time: UInt32 { entered.load(ordering: .acquiring) }

  @inline(__always) var image: RowImage? { row.map { RowImage(heldRow: $0) } }
  @inline(__always) var entityNumber: Int? { row.map { RowImage.reference($0).entity } }

  @inline(__always) func isNewer(than version: Int64) -> Bool {
    address.load(ordering: .relaxed) != 0 && Int32(bitPattern: self.version &- UInt32(truncatingIfNeeded: version)) > 0
  }

  @inline(__always) fileprivate func set(_ row: UnsafeRawPointer, time: UInt32) -> UnsafeRawPointer? {
    let previous = address.load(ordering: .relaxed)
    put(row, time: time)
    return UnsafeRawPointer(bitPattern: previous)
  }

  @inline(__always) fileprivate func put(_ row: UnsafeRawPointer, time: UInt32) {
    lowVersion.store(UInt32(truncatingIfNeeded: RowImage.version(row)), ordering: .relaxed)
    address.store(UInt(bitPattern: row), ordering: .releasing)
    entered.store(time, ordering: .releasing)
  }

  /// Records that the row still matches the store.
  @inline(__always) func renew(_ time: UInt32) { entered.store(time, ordering: .releasing) }

  fileprivate func clear() -> UnsafeRawPointer? {
    let previous = address.load(ordering: .relaxed)
    address.store(0, ordering: .releasing)
    return UnsafeRawPointer(bitPattern: previous)
  }
}

/// A source of cached rows, implemented by row caches.
package protocol CachedRowSource: AnyObject, Sendable {
  /// Returns the cached rows of 512 neighboring keys of an entity tree, or nil if none is cached.
  func rowTable(root: Int, number: Int64) -> RowTable?
}

/// The cached rows that a fetch can reuse. If the store has the same version of a row as the cache, the fetch shares the cached row instead
/// of reading it.
///
/// Every save changes the version of a row, so equal versions mean equal rows. An instance belongs to one fetch and is released with it.
package final class ReusableRows {
  private let source: any CachedRowSource
  /// The tables looked up so far, indexed by their number modulo `places`. A fetch that is not ordered by key returns to them repeatedly.
  // One fetch uses it on one thread, once a row; exclusivity checks would be measurable.
  @exclusivity(unchecked) private var tables: [(root: Int, number: Int64, table: RowTable?)] = []
  private static let places = 256
  // Unchecked for the same reason.
  @exclusivity(unchecked) private var current: (root: Int, number: Int64, entries: RowEntries?) = (-1, 0, nil)

  package init(_ source: any CachedRowSource) { self.source = source }

  /// Appends the cached row of a key to a writer, if it is cached in the given version with all its values.
  ///
  /// - Parameter largeSlots: The slots whose values may be stored outside the row.
  /// - Returns: Whether the row was appended.
  package func add(
    _ key: Int64, version: Int64, ofEntity entity: Int, root: Int, largeSlots: [Int], to writer: RowWriter
  ) -> Bool {
    let number = key >> 9
    if number != current.number || root != current.root { turn(to: number, root: root) }
    guard let entries = current.entries else { return false }
    let entry = entries[Int(key & 511)]
    guard let row = entry.pointee.row, entry.pointee.version == UInt32(truncatingIfNeeded: version), RowImage.version(row) == version,
      RowImage.reference(row).entity == entity, !RowImage.mayHaveExternals(row, at: largeSlots)
    else { return false }
    writer.append(heldRow: row)
    return true
  }

  private func turn(to number: Int64, root: Int) {
    if tables.isEmpty { tables = Array(repeating: (-1, 0, nil), count: Self.places) }
    let place = Int(truncatingIfNeeded: number) & (Self.places - 1)
    if tables[place].root != root || tables[place].number != number {
      tables[place] = (root, number, source.rowTable(root: root, number: number))
    }
    current = (root, number, tables[place].table?.entries)
  }
}
