// KeyOrder: keys in their order, without comparing each with many others.

extension Array<Int64> {
  /// Fewer are sorted by comparing them: counting has to go through its counts.
  private static var fewest: Int { 256 }
  /// The bits that one pass goes by: the counts of 2¹¹ lie in the nearest memory.
  private static var bitsOfPass: Int { 11 }

  /// The numbers in ascending order. Numbers that lie within 2³³ of each other, as keys of one table do, are distributed by eleven of their bits after eleven
  /// others: linear, where comparing takes the processor a wrong guess at every second step.
  func keysInOrder() -> [Int64] {
    guard var last = first else { return [] }
    var (least, greatest, isInOrder) = (last, last, true)
    for key in self {
      if key < last { isInOrder = false }
      last = key
      least = Swift.min(least, key)
      greatest = Swift.max(greatest, key)
    }
    if isInOrder { return self }
    let range = UInt64(bitPattern: greatest &- least)
    let passes = (UInt64.bitWidth - range.leadingZeroBitCount + Self.bitsOfPass - 1) / Self.bitsOfPass
    if count < Self.fewest || passes > 3 { return sorted() }
    var (from, into) = (self, self)
    for pass in 0..<passes {
      from.distribute(into: &into, less: least, by: UInt64(pass * Self.bitsOfPass))
      swap(&from, &into)
    }
    return from
  }

  /// Puts the numbers into an array of as many in the order of some of their bits; those with the same bits stay as they are.
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
