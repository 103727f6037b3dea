// RowTable: the rows of 512 neighbouring keys, as a row cache has them.
import CProcessor
import ObjectModel
import Synchronization

/// The rows of 512 neighbouring keys of one entity tree. Whoever shares a table reads it as it was then: a row cache changes only one that nobody else holds,
/// and takes a copy otherwise.
package final class RowTable: @unchecked Sendable {  // the entries are atomic; the memory that they lie in is the table's
  /// The number of entries.
  package static var size: Int { 512 }

  /// Memory of its own instead of an array: a large fetch enters each row here, and pays for every check.
  package let entries: RowEntries

  init() { entries = .allocate() }

  convenience init(copying other: RowTable) {
    self.init()
    for index in 0..<Self.size {
      guard let row = other.entries[index].pointee.row else { continue }
      RowImage.hold(row)
      _ = entries.set(row, time: other.entries[index].pointee.time, at: index)
    }
  }

  deinit {
    for index in 0..<Self.size { if let row = entries[index].pointee.row { RowImage.letGo(row) } }
    entries.deallocate()
  }
}

/// The entries of 512 neighbouring keys, and before them a bit for each that has a row.
///
/// Who reads here and there mostly finds none, and the bits of all pages are at hand where the entries, 128 times as many bytes, are not. A bit is set after the
/// row was put in, and cleared before it is taken out; otherwise bits are written and read as entries are.
package struct RowEntries {
  /// Where the entries begin.
  let start: UnsafeMutablePointer<RowEntry>

  private typealias Bits = Atomic<UInt64>
  private static var wordCount: Int { RowTable.size / 64 }

  init(_ start: UnsafeMutablePointer<RowEntry>) { self.start = start }

  /// New entries without rows; ``deallocate()`` frees them.
  static func allocate() -> RowEntries {
    let bitsSize = wordCount * MemoryLayout<Bits>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: bitsSize + RowTable.size * MemoryLayout<RowEntry>.stride, alignment: 64)
    let bits = memory.bindMemory(to: Bits.self, capacity: wordCount)
    for word in 0..<wordCount { (bits + word).initialize(to: Bits(0)) }
    let start = (memory + bitsSize).bindMemory(to: RowEntry.self, capacity: RowTable.size)
    for index in 0..<RowTable.size { (start + index).initialize(to: RowEntry()) }
    return RowEntries(start)
  }

  /// Frees the entries, none of which holds its row any more.
  func deallocate() {
    start.deinitialize(count: RowTable.size)
    bits.deinitialize(count: Self.wordCount)
    UnsafeMutableRawPointer(bits).deallocate()
  }

  // The words lie where `allocate` has put them: right before the entries.
  @inline(__always) private var bits: UnsafeMutablePointer<Bits> {
    (UnsafeMutableRawPointer(start) - Self.wordCount * MemoryLayout<Bits>.stride).assumingMemoryBound(to: Bits.self)
  }

  @inline(__always) package subscript(index: Int) -> UnsafeMutablePointer<RowEntry> { start + index }

  /// Whether a key has a row. Where it has none its entry is not looked at.
  @inline(__always) func hasRow(_ index: Int) -> Bool {
    bits[index &>> 6].load(ordering: .acquiring) &>> UInt64(index & 63) & 1 != 0
  }

  /// Looks at the entry of a key, if that has a row.
  @inline(__always) func look<Result>(at index: Int, _ body: (borrowing RowEntry) -> Result?) -> Result? {
    if hasRow(index) { return body(start[index]) }
    // Who finds no row reads it from the store, and puts it in then.
    cipherdata_prefetch(start + index)
    return nil
  }

  /// Puts a row in that is held for the entry; gives the one before it, which still is.
  @inline(__always) func set(_ row: UnsafeRawPointer, time: UInt32, at index: Int) -> UnsafeRawPointer? {
    // A processor need not wait for an entry that is written only.
    if hasRow(index) { return start[index].set(row, time: time) }
    start[index].put(row, time: time)
    change(index) { $0 | $1 }
    return nil
  }

  /// Takes a row out; gives it, still held.
  func clear(_ index: Int) -> UnsafeRawPointer? {
    guard hasRow(index) else { return nil }
    change(index) { $0 & ~$1 }
    return start[index].clear()
  }

  /// Whoever changes entries is alone with the page: nobody's change comes between.
  @inline(__always) private func change(_ index: Int, _ body: (UInt64, UInt64) -> UInt64) {
    let word = bits[index &>> 6].load(ordering: .relaxed)
    bits[index &>> 6].store(body(word, 1 &<< UInt64(index & 63)), ordering: .releasing)
  }
}

/// A row, and what of it is asked when another one comes: its own memory may lie cold.
///
/// Written under the lock of the page's part; whoever counts himself among the part's readers reads it without: see ``RowCachePart/retired``.
package struct RowEntry: ~Copyable {
  /// Where the row begins, which the table holds; 0 where there is none.
  private let address = Atomic<UInt>(0)
  private let lowVersion = Atomic<UInt32>(0)
  private let entered = Atomic<UInt32>(0)

  /// Where the row begins; nil where there is none.
  @inline(__always) package var row: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) }
  /// The lower half of the row's version.
  package var version: UInt32 { lowVersion.load(ordering: .relaxed) }
  /// When the row was put in, in hundredths of a second of a clock of this process. Who asks before he reads the row has one that is no older.
  var time: UInt32 { entered.load(ordering: .acquiring) }

  /// The row, with a reference of its own.
  @inline(__always) var image: RowImage? { row.map { RowImage(heldRow: $0) } }
  /// The number of the row's entity; nil where there is none.
  @inline(__always) var entityNumber: Int? { row.map { RowImage.reference($0).entity } }

  /// Whether the row is newer than one of a version.
  @inline(__always) func isNewer(than version: Int64) -> Bool {
    address.load(ordering: .relaxed) != 0 && Int32(bitPattern: self.version &- UInt32(truncatingIfNeeded: version)) > 0
  }

  /// Puts a row in that is held for the entry; gives the one before it, which still is.
  @inline(__always) fileprivate func set(_ row: UnsafeRawPointer, time: UInt32) -> UnsafeRawPointer? {
    let former = address.load(ordering: .relaxed)
    put(row, time: time)
    return UnsafeRawPointer(bitPattern: former)
  }

  /// Puts a row in where none is.
  @inline(__always) fileprivate func put(_ row: UnsafeRawPointer, time: UInt32) {
    lowVersion.store(UInt32(truncatingIfNeeded: RowImage.version(row)), ordering: .relaxed)
    address.store(UInt(bitPattern: row), ordering: .releasing)
    entered.store(time, ordering: .releasing)
  }

  /// The row was found to be as it is stored.
  @inline(__always) func renew(_ time: UInt32) { entered.store(time, ordering: .releasing) }

  /// Takes the row out; gives it, still held.
  fileprivate func clear() -> UnsafeRawPointer? {
    let former = address.load(ordering: .relaxed)
    address.store(0, ordering: .releasing)
    return UnsafeRawPointer(bitPattern: former)
  }
}
