// ExternalNumbers: the numbers of large values that a request has written.
import ObjectStore

/// The numbers that rows of one request have got: a row that is written a second time keeps them.
final class ExternalNumbers {
  private struct Key: Hashable {
    let row: UnsafeRawPointer
    let slot: Int
  }
  /// The rows stay in memory, so that no other takes their place.
  private var numbers: [Key: (row: RowImage, id: Int64)] = [:]

  func id(of row: RowImage, _ slot: Int) -> Int64? { numbers.isEmpty ? nil : numbers[Key(row: row.base, slot: slot)]?.id }
  func note(_ id: Int64, of row: RowImage, _ slot: Int) { numbers[Key(row: row.base, slot: slot)] = (row, id) }
}
