/// A step of a simulation. What it does in detail is a function of its seed, so that a sequence can be shortened.
package struct SimulationEvent: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The application saves on a device.
    case save
    /// A message arrives, in any order.
    case deliver
    /// A device pulls.
    case remoteChange
    /// A device is killed, now or at a later call to its store, and starts again.
    case kill
    /// A wall clock is set.
    case setClock
    /// The hub is restored from an older state, with or without a new incarnation.
    case restoreHub
    /// A device's store is replaced by an older copy, which the device notices or not.
    case restoreDevice
    /// A device loses keys, or gets them.
    case setKeys
    /// A device is away from now on, or is back.
    case leave
  }
  package var kind: Kind
  package var device: Int
  package var seed: UInt64

  package init(_ kind: Kind, _ device: Int, _ seed: UInt64) { (self.kind, self.device, self.seed) = (kind, device, seed) }

  package var description: String { "SimulationEvent(.\(kind), \(device), \(seed))" }
}

/// Random numbers that depend on a seed only (splitmix64).
package struct SimulationRandom: RandomNumberGenerator {
  private var state: UInt64
  package init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 ^ 0xD1B5_4A32_D192_ED03 }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Returns true with a probability.
  package mutating func chance(_ probability: Double) -> Bool { Double(next() >> 11) / Double(1 << 53) < probability }
  package mutating func number(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
  package mutating func element<Elements: Collection>(of elements: Elements) -> Elements.Element? {
    elements.isEmpty ? nil : elements[elements.index(elements.startIndex, offsetBy: number(below: elements.count))]
  }
}
