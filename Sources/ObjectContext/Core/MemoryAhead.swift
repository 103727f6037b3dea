// MemoryAhead: memory that a walk will come to, asked for before it is needed.
import CProcessor
import ObjectStore

/// Tells the processor what memory is read soon, so that a step through a graph does not wait for each line of it: without these hints that is about 40 %
/// of what a step from fetched objects costs. Nothing is read for a hint, and a wrong one is only in vain.
enum MemoryAhead {
  // Objects and rows that came in one fetch lie one behind the other. What is this far behind is there when a walk that goes on comes to it.
  private static let objectDistance = 384
  private static let rowDistance = 256

  /// Somebody looks at an object and its row, and will look at those behind them if he walks through what was fetched.
  @inline(__always) static func expect(behind object: ManagedObject, _ row: UnsafeRawPointer) {
    cipherdata_prefetch(row + rowDistance)
    // An address is given, nothing is read or held.
    cipherdata_prefetch(Unmanaged.passUnretained(object).toOpaque() + objectDistance)
  }

  /// Somebody will look at the values of a row.
  @inline(__always) static func expect(_ row: UnsafeRawPointer) { cipherdata_prefetch(row + RowImage.wordsOffset) }
}
