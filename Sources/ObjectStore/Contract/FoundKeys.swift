// FoundKeys: which keys of an entity a fetch has found, in little memory, and the stores that say it so.
package import ObjectModel
package import ObjectQuery

/// Keys of one entity: pages of 512 neighbours, a bit each, in whatever order they come. Where pages have all of their keys and come one behind the other, as most do
/// of a fetch without a condition, all of them together take 16 bytes.
package final class FoundKeys {
  /// The bits of 512 neighbouring keys.
  private typealias Page = SIMD8<UInt64>

  /// The entity's number in the model; nil where nobody has put a key in.
  package private(set) var entity: Int?
  private var pages: [Int64: Page] = [:]
  /// The numbers of pages that have all of their keys: ascending, none in `pages`, no run right behind another.
  private var fullRuns: [ClosedRange<Int64>] = []
  /// The page of the last key that was put in, which is not in `pages` as it is now; then that of the next one to be taken out.
  private var current = Page.zero
  private var number = Int64.min
  /// The numbers of `pages`, the last first, once keys are taken out; then `fullRuns` are in this order too.
  private var order: [Int64]?

  package init() {}

  /// The pages that take memory of their own.
  package var separatePageCount: Int { pages.count }

  /// Puts a key in.
  package func insert(_ key: Int64, entity: Int) {
    self.entity = entity
    let number = key >> 9
    if number != self.number {
      leave()
      if isFull(number) { return }
      self.number = number
      current = pages[number] ?? .zero
    }
    current[Int(key >> 6 & 7)] |= 1 << UInt64(key & 63)
  }

  /// Puts the current page where it belongs; there is none then.
  private func leave() {
    guard number != .min else { return }
    let last = fullRuns.last?.upperBound
    // Where they come in another order a list of runs would have to be moved about.
    if current == Page(repeating: .max), last.map({ $0 < number }) ?? true {
      pages[number] = nil
      if let last, last + 1 == number {
        fullRuns[fullRuns.count - 1] = fullRuns[fullRuns.count - 1].lowerBound...number
      } else {
        fullRuns.append(number...number)
      }
    } else {
      pages[number] = current
    }
    (number, current) = (.min, .zero)
  }

  private func isFull(_ number: Int64) -> Bool {
    guard let last = fullRuns.last, number <= last.upperBound else { return false }
    var (low, high) = (0, fullRuns.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if fullRuns[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return fullRuns[low].contains(number)
  }

  /// Takes the lowest keys out, at least one while there is any, up to a number and in ascending order. None is put in any more.
  package func takeFirst(_ count: Int) -> [Int64] {
    if order == nil {
      leave()
      order = pages.keys.sorted(by: >)
      fullRuns.reverse()
    }
    var keys: [Int64] = []
    while keys.count < max(count, 1) {
      if current == .zero, !takePage() { break }
      for word in 0..<8 {
        while current[word] != 0, keys.count < max(count, 1) {
          keys.append(number << 9 | Int64(word) << 6 | Int64(current[word].trailingZeroBitCount))
          current[word] &= current[word] &- 1
        }
      }
    }
    return keys
  }

  /// Takes the lowest page out, which is the current one then; false where there is none.
  private func takePage() -> Bool {
    if let run = fullRuns.last, order?.last.map({ run.lowerBound < $0 }) ?? true {
      (number, current) = (run.lowerBound, Page(repeating: .max))
      if run.count == 1 { fullRuns.removeLast() } else { fullRuns[fullRuns.count - 1] = run.lowerBound + 1...run.upperBound }
      return true
    }
    guard let next = order?.popLast() else { return false }
    (number, current) = (next, pages.removeValue(forKey: next) ?? .zero)
    return true
  }
}

/// What a fetch of IDs has found.
package enum FoundObjects {
  /// Objects of one entity, in no order.
  case keys(FoundKeys)
  /// Any objects.
  case ids([ManagedObjectID])
}

/// A store that says what a fetch finds without a list of it.
package protocol KeyListingStore: IncrementalStore {
  /// The objects that a fetch of IDs finds. It has no order, no limit and no offset.
  func foundObjects(_ specification: FetchSpecification, in scope: RequestScope) throws -> FoundObjects
}
