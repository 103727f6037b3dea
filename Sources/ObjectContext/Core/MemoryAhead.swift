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

  /// Visits objects whose changes are looked at: each has its values and its row where they were made, far apart and by now far from the processor. Those
  /// of objects further on are asked for meanwhile.
  @inline(__always) static func visit(_ objects: [ManagedObject], _ body: (ManagedObject) -> Void) {
    let (objectsAhead, valuesAhead, rowsAhead) = (12, 8, 4)
    withHeld(objects) { held in
      for index in held.indices {
        if index &+ objectsAhead < held.count { cipherdata_prefetch(held[index &+ objectsAhead].toOpaque()) }
        if index &+ valuesAhead < held.count {
          held[index &+ valuesAhead]._withUnsafeGuaranteedRef { if let overlay = $0.overlay { expect(overlay) } }
        }
        if index &+ rowsAhead < held.count {
          held[index &+ rowsAhead]._withUnsafeGuaranteedRef { if let row = $0.row { expect(row) } }
        }
        body(objects[index])
      }
    }
  }

  /// Visits objects that an array holds, until the visitor has seen enough: none is retained for its visit, and objects further on are asked for meanwhile.
  ///
  /// - Returns: Whether all were visited.
  // The array holds those that are visited.
  @inline(__always) @discardableResult static func visitWhile(_ objects: [ManagedObject], _ body: (Unmanaged<ManagedObject>) -> Bool)
    -> Bool
  {
    let ahead = 8
    return withHeld(objects) { held in
      for index in held.indices {
        if index &+ ahead < held.count { cipherdata_prefetch(held[index &+ ahead].toOpaque()) }
        if !body(held[index]) { return false }
      }
      return true
    }
  }

  /// Lends the addresses of the objects that an array holds.
  @inline(__always) private static func withHeld<Result>(
    _ objects: [ManagedObject],
    _ body: (UnsafeBufferPointer<Unmanaged<ManagedObject>>) -> Result  // Addresses are read as such, and nothing is retained.
  ) -> Result {
    // The array holds them.
    objects.withUnsafeBufferPointer { $0.withMemoryRebound(to: Unmanaged<ManagedObject>.self, body) }
  }

  /// Somebody will look at the values of an overlay.
  @inline(__always) private static func expect(_ overlay: Overlay) {
    for line in 0..<4 { cipherdata_prefetch(overlay.address + line &* 64) }
  }

  /// Somebody will look at the values of a row.
  @inline(__always) static func expect(_ row: UnsafeRawPointer) { cipherdata_prefetch(row + RowImage.wordsOffset) }
}
