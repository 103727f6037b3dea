package import ObjectModel
package import ObjectQuery

/// A compact set of keys of one entity, the result of a fetch of IDs.
///
/// Keys are stored as bitmaps of 512 neighboring keys (pages) and can be inserted in any order. A run of consecutive full pages takes 16
/// bytes altogether; most fetches without a predicate produce such runs.
package final class FetchedKeys {
  /// One bit for each of 512 neighboring keys.
  private typealias Page = SIMD8<UInt64>

  /// The number of the entity in the model, or nil if the set is empty.
  package private(set) var entity: Int?
  private var pages: [Int64: Page] = [:]
  /// The numbers of the full pages, as ascending, nonadjacent ranges. None of these pages is in `pages`.
  private var fullRuns: [ClosedRange<Int64>] = []
  /// The page of the last insertion, whose entry in `pages` is outdated; during removal, the page of the next key.
  private var current = Page.zero
  private var number = Int64.min
  /// The page numbers of `pages` in descending order, once removal has begun. `fullRuns` is in descending order then too.
  private var order: [Int64]?

  package init() {}

  /// The number of pages that take memory of their own.
  package var separatePageCount: Int { pages.count }

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

  /// Stores the current page in `pages` or `fullRuns`.
  private func leave() {
    guard number != .min else { return }
    let last = fullRuns.last?.upperBound
    // Full pages that are completed out of order stay in `pages`; inserting them would require moving ranges.
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

  /// Removes and returns the lowest keys in ascending order: at most `count`, and at least one if the set is not empty. No key may be
  /// inserted afterwards.
  package func removeFirst(_ count: Int) -> [Int64] {
    if order == nil {
      leave()
      order = pages.keys.sorted(by: >)
      fullRuns.reverse()
    }
    var keys: [Int64] = []
    while keys.count < max(count, 1) {
      if current == .zero, !popPage() { break }
      for word in 0..<8 {
        while current[word] != 0, keys.count < max(count, 1) {
          keys.append(number << 9 | Int64(word) << 6 | Int64(current[word].trailingZeroBitCount))
          current[word] &= current[word] &- 1
        }
      }
    }
    return keys
  }

  /// Removes the lowest page and makes it the current one. Returns false if there is none.
  private func popPage() -> Bool {
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

/// The result of a fetch of IDs.
package enum FetchedIDs {
  /// Unordered objects of one entity.
  case keys(FetchedKeys)
  /// Objects of any entities.
  case ids([ManagedObjectID])
}

/// A store that can return the result of a fetch of IDs as a compact set.
package protocol KeyListingStore: IncrementalStore {
  /// Returns the objects that match a fetch of IDs without order, limit, and offset.
  func fetchedIDs(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchedIDs
}

/// Reads individual rows of one store for one caller, which keeps the reader so that resources of one read are reused by the next.
package protocol RowReader: AnyObject {
  /// Returns the last saved row of an object, or nil if it was deleted. Commits of other processes may appear with a short delay.
  func row(_ reference: ObjectReference) throws -> RowImage?

  /// Makes the next read see the current state of the store.
  func renew()
}

/// A store that reads individual rows more efficiently than ``IncrementalStore/newValuesForObjects(with:in:)``.
package protocol SingleRowStore: IncrementalStore {
  /// Returns a reader for one caller.
  ///
  /// - Parameter generation: The generation to read, or nil for the newest state.
  func makeRowReader(of generation: (any StoreGeneration)?) throws -> any RowReader
}
