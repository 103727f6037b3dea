// RowTable: the rows of 512 neighbouring keys, as a row cache has them.
import ObjectModel
import Synchronization

/// The rows of 512 neighbouring keys of one entity tree. Whoever shares a table reads it as it was then: a row cache changes only one that nobody else holds,
/// and takes a copy otherwise.
package final class RowTable: @unchecked Sendable {  // the entries are atomic; the memory that they lie in is the table's
  /// The number of entries.
  package static var size: Int { 512 }

  /// Memory of its own instead of an array: a large fetch enters each row here, and pays for every check.
  package let entries: UnsafeMutablePointer<RowEntry>

  init() {
    entries = UnsafeMutablePointer.allocate(capacity: Self.size)
    for index in 0..<Self.size { (entries + index).initialize(to: RowEntry()) }
  }

  convenience init(copying other: RowTable) {
    self.init()
    for index in 0..<Self.size {
      guard let row = other.entries[index].row else { continue }
      RowImage.hold(row)
      _ = entries[index].set(row, time: other.entries[index].time)
    }
  }

  deinit {
    for index in 0..<Self.size { if let row = entries[index].row { RowImage.letGo(row) } }
    entries.deinitialize(count: Self.size).deallocate()
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
  @inline(__always) func set(_ row: UnsafeRawPointer, time: UInt32) -> UnsafeRawPointer? {
    let former = address.load(ordering: .relaxed)
    lowVersion.store(UInt32(truncatingIfNeeded: RowImage.version(row)), ordering: .relaxed)
    address.store(UInt(bitPattern: row), ordering: .releasing)
    entered.store(time, ordering: .releasing)
    return UnsafeRawPointer(bitPattern: former)
  }

  /// The row was found to be as it is stored.
  @inline(__always) func renew(_ time: UInt32) { entered.store(time, ordering: .releasing) }

  /// Takes the row out; gives it, still held.
  func clear() -> UnsafeRawPointer? {
    let former = address.load(ordering: .relaxed)
    address.store(0, ordering: .releasing)
    return UnsafeRawPointer(bitPattern: former)
  }
}
