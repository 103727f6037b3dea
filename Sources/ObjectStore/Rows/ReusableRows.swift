import ObjectModel

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
