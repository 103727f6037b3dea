import ObjectStore

/// The numbers of large values that one request wrote. A row that is written again keeps its numbers.
final class ExternalNumbers {
  private struct Key: Hashable {
    let row: UnsafeRawPointer
    let slot: Int
  }
  /// Holds the rows, so that no other row can reuse their address.
  private var numbers: [Key: (row: RowImage, id: Int64)] = [:]

  func id(of row: RowImage, _ slot: Int) -> Int64? { numbers.isEmpty ? nil : numbers[Key(row: row.base, slot: slot)]?.id }
  func record(_ id: Int64, of row: RowImage, _ slot: Int) { numbers[Key(row: row.base, slot: slot)] = (row, id) }
}
