import _SyncSimulation

extension [UInt8] {
  /// Changes, removes or inserts up to three bytes.
  mutating func damage(_ random: inout SimulationRandom) {
    for _ in 0...random.number(below: 3) {
      switch random.number(below: 3) {
      case 0: self[random.number(below: count)] = UInt8(truncatingIfNeeded: random.next())
      case 1: removeLast(Swift.min(count - 1, random.number(below: 4)))
      default: insert(UInt8(truncatingIfNeeded: random.next()), at: random.number(below: count))
      }
    }
  }
}
