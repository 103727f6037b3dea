// KnownRows: rows that are at hand, for a fetch that comes upon them again.
import ObjectModel

/// What has rows at hand: a row cache.
package protocol RowTableSource: AnyObject, Sendable {
  /// The rows of 512 neighbouring keys of an entity tree as they are at hand now; nil when none is.
  func rowTable(root: Int, number: Int64) -> RowTable?
}

/// The rows that are at hand while a fetch reads: one that comes in the version that is known is not read again, but shared.
///
/// Every save gives a row another version, so that the same version is the same row. Belongs to one fetch, and is let go with it.
package final class KnownRows {
  private let source: any RowTableSource
  /// The tables that were looked at, each at the place of its number: a fetch in another order than that of the keys comes back to them.
  // Used by one fetch on one thread; asked for each row.
  @exclusivity(unchecked) private var tables: [(root: Int, number: Int64, table: RowTable?)] = []
  private static let places = 256
  // Unchecked as above.
  @exclusivity(unchecked) private var current: (root: Int, number: Int64, entries: RowEntries?) = (-1, 0, nil)

  package init(_ source: any RowTableSource) { self.source = source }

  /// Puts the row of a key into a writer's list if it is at hand in a version, with all values.
  ///
  /// - Parameter largeSlots: The slots whose values may lie outside the row.
  /// - Returns: Whether it is.
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
