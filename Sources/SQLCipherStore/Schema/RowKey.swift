import ObjectModel
import ObjectStore

/// The valid keys of rows.
enum RowKey {
  /// The greatest key of a row. Greater keys denote references of another kind (see `ObjectIDSpace`).
  static let maximum = (Int64(1) << 46) - 1

  @inline(__always) static func isKey(_ number: Int64) -> Bool {
    UInt64(bitPattern: number &- 1) < UInt64(bitPattern: maximum)
  }
}

// MARK: - Converting object IDs

extension ObjectIDSpace {
  /// Returns the row key of an object of this store, or 0 (never a row's key) for temporary IDs and objects of other stores.
  func key(of id: ManagedObjectID) -> Int64 {
    id.isTemporaryID || (id.space != number && id.storeIdentifier != storeIdentifier) ? 0 : id.key
  }
}

// MARK: - Sorting keys

extension Array<Int64> {
  /// The minimum count for a radix sort. Below it, the passes over the histogram cost more than comparisons.
  private static var fewest: Int { 256 }
  /// The number of bits that one pass sorts by: a histogram of 2¹¹ counts fits the L1 cache.
  private static var bitsOfPass: Int { 11 }

  /// Returns the numbers in ascending order.
  ///
  /// Numbers within a range of 2³³, as the keys of one table are, are radix-sorted in up to three passes of 11 bits. That takes linear time
  /// and avoids the branch mispredictions of a comparison sort.
  func sortedKeys() -> [Int64] {
    guard var last = first else { return [] }
    var (least, maximum, isInOrder) = (last, last, true)
    for key in self {
      if key < last { isInOrder = false }
      last = key
      least = Swift.min(least, key)
      maximum = Swift.max(maximum, key)
    }
    if isInOrder { return self }
    let range = UInt64(bitPattern: maximum &- least)
    let passes = (UInt64.bitWidth - range.leadingZeroBitCount + Self.bitsOfPass - 1) / Self.bitsOfPass
    if count < Self.fewest || passes > 3 { return sorted() }
    var (from, into) = (self, self)
    for pass in 0..<passes {
      from.distribute(into: &into, less: least, by: UInt64(pass * Self.bitsOfPass))
      swap(&from, &into)
    }
    return from
  }

  /// Copies the numbers to an array of the same count, sorted by 11 of their bits. The sort is stable.
  private func distribute(into target: inout [Int64], less least: Int64, by shift: UInt64) {
    let mask: UInt64 = 1 << UInt64(Self.bitsOfPass) - 1
    func digit(_ key: Int64) -> Int { Int(UInt64(bitPattern: key &- least) >> shift & mask) }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: Int(mask) + 1) { places in
      places.initialize(repeating: 0)
      for key in self { places[digit(key)] += 1 }
      var start = 0
      for index in places.indices {
        let number = places[index]
        places[index] = start
        start += number
      }
      for key in self {
        let index = digit(key)
        target[places[index]] = key
        places[index] += 1
      }
    }
  }
}
