import Foundation
import Synchronization

/// What an opening may spend. The unit is one derivation of the standard cost, scrypt with N = 2^17: 128 MiB, about half a second.
package struct KeyWorkLimit: Sendable, Hashable {
  /// What is spent without being asked: sixteen slots of the standard cost.
  static let standardUnits = 16
  /// The dearest slot that is tried without being asked takes 256 MiB.
  static let standardLargest = 18
  private static let unit = 1 << 17

  /// What the application or the user asks for; nil without a wish.
  package let wish: Int?

  /// - Parameter wish: Units; a slot may take all of them, with its memory.
  package init(_ wish: Int? = nil) { self.wish = wish.map { max(0, min($0, 1 << 20)) } }

  /// The greatest sum of all N.
  private var greatestSum: Int { (wish ?? Self.standardUnits) * Self.unit }

  /// Whether a derivation may be done when others have been.
  func allows(_ log2N: Int, after sum: Int) -> Bool {
    (wish != nil || log2N <= Self.standardLargest) && sum + (1 << log2N) <= greatestSum
  }

  /// The wish that allows work.
  static func units(for sum: Int) -> Int { (sum + unit - 1) / unit }

  /// The wish that tries every slot of a key file; nil where none is needed.
  package static func needed(for kdfs: [KDF?]) -> Int? {
    let costs = kdfs.compactMap { $0?.log2N }
    let sum = costs.reduce(0) { $0 + (1 << $1) }
    if costs.max() ?? 0 <= standardLargest, sum <= standardUnits * unit { return nil }
    return units(for: sum)
  }

  /// Refuses a slot that this limit would not open, or that would keep it from opening another.
  func check(adding slot: KeyFile.Slot, to file: KeyFile) throws(StoreAccessError) {
    if slot.log2N == 0 { return }
    let costs = file.slots.map { Int($0.log2N) }.filter { $0 > 0 }
    guard reached(costs + [Int(slot.log2N)]) <= reached(costs) else { return }
    let sum = costs.reduce(1 << Int(slot.log2N)) { $0 + (1 << $1) }
    throw StoreAccessError(
      .keyWorkExceeded(slot: file.name(of: slot, place: file.slots.count + 1), needed: Self.units(for: sum), isNew: true), path: nil,
      operation: .makeSlot)
  }

  /// How many slots are tried in the worst case.
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

/// What one opening has spent, over all its attempts.
package struct KeyWork {
  package let limit: KeyWorkLimit
  /// The sum of all N.
  private var sum = 0
  /// The first slot that was not tried, and the wish that it needs.
  private(set) var refused: (slot: KeyFile.Slot, needed: Int)?

  package init(_ limit: KeyWorkLimit) { self.limit = limit }

  /// Whether a slot may be tried; notes it.
  mutating func spend(on slot: KeyFile.Slot) -> Bool {
    guard slot.log2N > 0 else { return true }
    let log2N = Int(slot.log2N)
    guard limit.allows(log2N, after: sum) else {
      if refused == nil { refused = (slot, KeyWorkLimit.units(for: sum + (1 << log2N))) }
      return false
    }
    sum += 1 << log2N
    return true
  }

  /// The error where no slot has opened and not all were tried.
  package func refusal(_ file: KeyFile, path: String) -> StoreAccessError? {
    refused.map {
      StoreAccessError(.keyWorkExceeded(slot: file.name(of: $0.slot), needed: $0.needed, isNew: false), path: path, operation: .unlock)
    }
  }
}

/// The slots that opened stores last in this process: who comes again is likely to be the same.
enum LastSlots {
  private static let capacity = 64
  private static let slots = Mutex<[(store: UUID, slot: UUID)]>([])

  static func slot(of store: UUID) -> UUID? { slots.withLock { $0.first { $0.store == store }?.slot } }

  static func note(_ slot: UUID, of store: UUID) {
    slots.withLock { slots in
      slots.removeAll { $0.store == store }
      slots.append((store, slot))
      if slots.count > capacity { slots.removeFirst() }
    }
  }
}

extension KeyFile {
  /// The slots as they are tried: the one that opened the store last, then the cheap before the dear, which may be a stranger's.
  var slotsByLikelihood: [Slot] {
    let last = LastSlots.slot(of: storeID)
    return slots.enumerated().sorted { left, right in
      func rank(_ entry: (offset: Int, element: Slot)) -> (Int, UInt8, Int) {
        (entry.element.id == last ? 0 : 1, entry.element.log2N, entry.offset)
      }
      return rank(left) < rank(right)
    }.map(\.element)
  }

  /// A slot for people: its place and label, and what it costs.
  func name(of slot: Slot, place: Int? = nil) -> String {
    let place = place ?? (slots.firstIndex { $0.id == slot.id } ?? 0) + 1
    let label = slot.label.isEmpty ? "" : " “\(slot.label)”"
    return "\(place)\(label) (\(KDF.scrypt(log2N: Int(slot.log2N))): \((1 << Int(slot.log2N)) / 1024) MiB)"
  }
}
