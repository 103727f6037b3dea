import Foundation
import Synchronization

/// The key derivation function for passphrases: scrypt with a block size of 8 and a parallelism of 1, as OWASP recommends.
public struct KDF: Sendable, Hashable, CustomStringConvertible {
  /// The supported costs. 15 takes 32 MiB and about 0.1 to 0.2 s per guess; 20 takes 1 GiB. With a higher cost, a malicious key file could
  /// exhaust memory. Using a key with another cost throws ``StoreError/Code/invalidKey``.
  public static let log2NRange = 15...20
  static var floor: Int { log2NRange.lowerBound }
  static var cap: Int { log2NRange.upperBound }
  static let blockSize = 8
  static let parallelism = 1

  /// The binary logarithm of scrypt's cost.
  public let log2N: Int
  /// Whether the range is not checked, for tests, which need no protection from guessing.
  let isUnchecked: Bool

  /// Returns scrypt with a cost of 2 to the power of `log2N`.
  ///
  /// - Parameter log2N: The logarithm of the cost. OWASP recommends 17 (128 MiB, 0.4 to 0.7 s). A value outside ``log2NRange`` causes an
  ///   error when the key is used.
  /// - Returns: The function.
  public static func scrypt(log2N: Int = 17) -> KDF { KDF(log2N: log2N, isUnchecked: false) }

  /// Returns a function with a low cost, for tests only.
  package static func cheapForTests() -> KDF { KDF(log2N: 4, isUnchecked: true) }

  /// A description such as `scrypt, N = 2^17`.
  public var description: String { "scrypt, N = 2^\(log2N)" }

  func check() throws(StoreAccessError) {
    guard isUnchecked || (Self.floor...Self.cap).contains(log2N) else {
      throw StoreAccessError(
        .invalidKey(.parameters(.scryptWork(Int(log2N), allowed: Int(Self.floor)...Int(Self.cap)))), path: nil,
        operation: .deriveKey)
    }
  }
}

/// The maximum cost of key derivations when a store is opened. The parameters in a key file are used before they can be authenticated.
///
/// The unit is one derivation at standard cost: scrypt with N = 2^17, which takes 128 MiB and about half a second.
package struct KeyWorkLimit: Sendable, Hashable {
  /// The default limit: sixteen slots at standard cost.
  static let standardUnits = 16
  /// The maximum cost of a single slot under the default limit, which takes 256 MiB.
  static let standardLargest = 18
  private static let unit = 1 << 17

  /// The limit that the application or the user set, or `nil` for the default.
  package let requestedUnits: Int?

  /// - Parameter requestedUnits: The limit in units. A single slot can use all of them, and the memory that it needs.
  package init(_ requestedUnits: Int? = nil) { self.requestedUnits = requestedUnits.map { max(0, min($0, 1 << 20)) } }

  private var maximumSum: Int { (requestedUnits ?? Self.standardUnits) * Self.unit }

  /// Returns whether a derivation is allowed after others with a sum of N.
  func allows(_ log2N: Int, after sum: Int) -> Bool {
    (requestedUnits != nil || log2N <= Self.standardLargest) && sum + (1 << log2N) <= maximumSum
  }

  /// Returns the limit that allows a sum of N.
  static func units(for sum: Int) -> Int { (sum + unit - 1) / unit }

  /// Returns the limit that allows every slot of a key file to be tried, or `nil` if the default does.
  package static func needed(for kdfs: [KDF?]) -> Int? {
    let costs = kdfs.compactMap { $0?.log2N }
    let sum = costs.reduce(0) { $0 + (1 << $1) }
    if costs.max() ?? 0 <= standardLargest, sum <= standardUnits * unit { return nil }
    return units(for: sum)
  }

  /// Throws if this limit would not allow a new slot to be tried, or if the slot would prevent another one from being tried.
  func check(adding slot: KeyFile.Slot, to file: KeyFile) throws(StoreAccessError) {
    if slot.log2N == 0 { return }
    let costs = file.slots.map { Int($0.log2N) }.filter { $0 > 0 }
    guard reached(costs + [Int(slot.log2N)]) <= reached(costs) else { return }
    let sum = costs.reduce(1 << Int(slot.log2N)) { $0 + (1 << $1) }
    throw StoreAccessError(
      .keyWorkExceeded(slot: file.name(of: slot, place: file.slots.count + 1), needed: Self.units(for: sum), isNew: true), path: nil,
      operation: .makeSlot)
  }

  /// Returns how many slots are tried in the worst case.
  private func reached(_ costs: [Int]) -> Int {
    var sum = 0
    var count = 0
    for log2N in costs.sorted() {
      guard allows(log2N, after: sum) else { break }
      sum += 1 << log2N
      count += 1
    }
    return count
  }
}

/// The key derivation work of one opening, over all its attempts.
package struct KeyWork {
  package let limit: KeyWorkLimit
  private var sum = 0
  /// The first slot that was not tried, and the limit that it needs.
  private(set) var rejected: (slot: KeyFile.Slot, needed: Int)?

  package init(_ limit: KeyWorkLimit) { self.limit = limit }

  /// Returns whether a slot may be tried, and records its cost.
  mutating func spend(on slot: KeyFile.Slot) -> Bool {
    guard slot.log2N > 0 else { return true }
    let log2N = Int(slot.log2N)
    guard limit.allows(log2N, after: sum) else {
      if rejected == nil { rejected = (slot, KeyWorkLimit.units(for: sum + (1 << log2N))) }
      return false
    }
    sum += 1 << log2N
    return true
  }

  /// Returns the error if no slot was opened and not all were tried.
  package func limitError(_ file: KeyFile, path: String) -> StoreAccessError? {
    rejected.map {
      StoreAccessError(.keyWorkExceeded(slot: file.name(of: $0.slot), needed: $0.needed, isNew: false), path: path, operation: .unlock)
    }
  }
}

/// The slots that most recently opened stores in this process. The next opening probably uses the same key.
enum RecentSlots {
  private static let capacity = 64
  private static let slots = Mutex<[(store: UUID, slot: UUID)]>([])

  static func slot(of store: UUID) -> UUID? { slots.withLock { $0.first { $0.store == store }?.slot } }

  static func record(_ slot: UUID, of store: UUID) {
    slots.withLock { slots in
      slots.removeAll { $0.store == store }
      slots.append((store, slot))
      if slots.count > capacity { slots.removeFirst() }
    }
  }
}

extension KeyFile {
  /// The slots in the order in which they are tried: the one that opened the store last, then the others by ascending cost, since an
  /// expensive slot can come from an attacker.
  var slotsByLikelihood: [Slot] {
    let last = RecentSlots.slot(of: storeID)
    return slots.enumerated().sorted { left, right in
      func rank(_ entry: (offset: Int, element: Slot)) -> (Int, UInt8, Int) {
        (entry.element.id == last ? 0 : 1, entry.element.log2N, entry.offset)
      }
      return rank(left) < rank(right)
    }.map(\.element)
  }

  /// Returns a readable name of a slot: its position, its label, and its cost.
  func name(of slot: Slot, place: Int? = nil) -> String {
    let place = place ?? (slots.firstIndex { $0.id == slot.id } ?? 0) + 1
    let label = slot.label.isEmpty ? "" : " “\(slot.label)”"
    return "\(place)\(label) (\(KDF.scrypt(log2N: Int(slot.log2N))): \((1 << Int(slot.log2N)) / 1024) MiB)"
  }
}
