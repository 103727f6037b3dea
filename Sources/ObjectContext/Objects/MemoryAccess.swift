import CProcessor
import ObjectStore

/// Prefetch hints for the processor's caches, so that a traversal does not wait for each cache line. Without hints, that wait is about 40 %
/// of the cost of a step from fetched objects. A hint reads nothing, and a wrong one has no effect.
enum MemoryPrefetch {
  // Objects and rows of one fetch are adjacent in memory. These distances, in bytes, are large enough for the data to arrive before a
  // traversal reaches it.
  private static let objectDistance = 384
  private static let rowDistance = 256

  /// Prefetches the memory after an object and its row, which a traversal of fetched objects reads next.
  @inline(__always) static func prefetch(behind object: ManagedObject, _ row: UnsafeRawPointer) {
    cipherdata_prefetch(row + rowDistance)
    // Only the address is used; nothing is dereferenced or retained.
    cipherdata_prefetch(Unmanaged.passUnretained(object).toOpaque() + objectDistance)
  }

  /// Visits changed objects, and prefetches the values and rows of later ones. Each object's overlay and row were allocated when they were
  /// created, are far apart, and are probably no longer cached.
  @inline(__always) static func visit(_ objects: [ManagedObject], _ body: (ManagedObject) -> Void) {
    let (objectsAhead, valuesAhead, rowsAhead) = (12, 8, 4)
    withHeld(objects) { held in
      for index in held.indices {
        if index &+ objectsAhead < held.count { cipherdata_prefetch(held[index &+ objectsAhead].toOpaque()) }
        if index &+ valuesAhead < held.count {
          held[index &+ valuesAhead]._withUnsafeGuaranteedRef { if let overlay = $0.overlay { prefetch(overlay) } }
        }
        if index &+ rowsAhead < held.count {
          held[index &+ rowsAhead]._withUnsafeGuaranteedRef { if let row = $0.row { prefetch(row) } }
        }
        body(objects[index])
      }
    }
  }

  /// Visits the objects of an array until the visitor returns `false`, without retaining each, and prefetches later objects.
  ///
  /// - Returns: Whether all objects were visited.
  // The array retains the objects during the visit.
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

  /// Provides the addresses of the objects of an array.
  @inline(__always) private static func withHeld<Result>(
    _ objects: [ManagedObject],
    _ body: (UnsafeBufferPointer<Unmanaged<ManagedObject>>) -> Result  // Only addresses are read; nothing is retained.
  ) -> Result {
    // The array retains the objects.
    objects.withUnsafeBufferPointer { $0.withMemoryRebound(to: Unmanaged<ManagedObject>.self, body) }
  }

  /// Prefetches the values of an overlay.
  @inline(__always) private static func prefetch(_ overlay: Overlay) {
    for line in 0..<4 { cipherdata_prefetch(overlay.address + line &* 64) }
  }

  /// Prefetches the values of a row.
  @inline(__always) static func prefetch(_ row: UnsafeRawPointer) { cipherdata_prefetch(row + RowImage.wordsOffset) }
}

/// Forces a word to be stored as a whole, although only one bit of it has changed.
///
/// Without this, the compiler stores only the changed byte. A processor cannot forward a partial store to a load of the whole word, so the
/// next load waits until the store and all earlier ones have completed. For a fault that was fired, that takes about 40 ns, more than
/// everything else.
enum FullWordStore {
  @inline(__always) static func of(_ word: Int) -> Int {
    Int(truncatingIfNeeded: cipherdata_opaque(UInt64(truncatingIfNeeded: word)))
  }
  @inline(__always) static func of(_ word: UInt32) -> UInt32 { UInt32(truncatingIfNeeded: cipherdata_opaque(UInt64(word))) }
}
