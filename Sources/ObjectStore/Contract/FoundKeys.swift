// FoundKeys: which keys of an entity a fetch has found, in little memory, and the stores that say it so.
package import ObjectModel
package import ObjectQuery

/// Keys of one entity, a bit each: neighbours share 72 bytes with 511 others, in whatever order they come.
package final class FoundKeys {
  /// The entity's number in the model; nil where nobody has put a key in.
  package private(set) var entity: Int?
  private var pages: [Int64: SIMD8<UInt64>] = [:]
  /// The page of the last key, which is not in `pages` as it is now.
  private var current: SIMD8<UInt64> = .zero
  private var number = Int64.min
  /// The pages by number, the last first, once the keys are taken out.
  private var order: [Int64]?

  package init() {}

  /// Puts a key in.
  package func insert(_ key: Int64, entity: Int) {
    self.entity = entity
    let number = key >> 9
    if number != self.number { move(to: number) }
    current[Int(key >> 6 & 7)] |= 1 << UInt64(key & 63)
  }

  private func move(to number: Int64) {
    if self.number != .min { pages[self.number] = current }
    self.number = number
    current = number == .min ? .zero : pages[number] ?? .zero
  }

  /// Takes the lowest keys out, at least one while there is any, up to a number and in ascending order.
  package func takeFirst(_ count: Int) -> [Int64] {
    if order == nil {
      move(to: .min)
      order = pages.keys.sorted(by: >)
    }
    var keys: [Int64] = []
    while keys.count < max(count, 1), let number = order?.last {
      var page = pages[number] ?? .zero
      for word in 0..<8 {
        while page[word] != 0, keys.count < max(count, 1) {
          keys.append(number << 9 | Int64(word) << 6 | Int64(page[word].trailingZeroBitCount))
          page[word] &= page[word] &- 1
        }
      }
      if page == .zero {
        pages[number] = nil
        order?.removeLast()
      } else {
        pages[number] = page
      }
    }
    return keys
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
