/// Assigns sparse keys that order the members of a relationship, so that moving a member changes few rows.
enum OrderKeys {
  /// The distance between neighbors that are numbered together.
  static let gap: Int64 = 1 << 20

  /// Returns ascending keys for members in a new order. As many keys as possible are kept. If no number is left between two keys, all keys
  /// are assigned again.
  ///
  /// - Parameter current: The members' present keys in the new order; `nil` for a new member.
  /// - Complexity: O(*n* log *n*), where *n* is the number of members.
  static func assign(_ current: [Int64?]) -> [Int64] {
    let kept = longestAscending(current)
    var keys: [Int64] = []
    keys.reserveCapacity(current.count)
    var previous: Int64?
    var start = 0
    for index in kept + [current.count] {
      let next = index < current.count ? current[index] : nil
      let count = Int64(index - start)
      if count > 0 {
        switch (previous, next) {
        case (nil, nil): for step in 1...count { keys.append(step * gap) }
        case (let low?, nil):
          guard low < Int64.max - (count + 1) * gap else { return fresh(current.count) }
          for step in 1...count { keys.append(low + step * gap) }
        case (nil, let high?):
          guard high > Int64.min + (count + 1) * gap else { return fresh(current.count) }
          for step in 1...count { keys.append(high - (count - step + 1) * gap) }
        case (let low?, let high?):
          let (range, isTooFar) = high.subtractingReportingOverflow(low)
          let distance = range / (count + 1)
          guard !isTooFar, distance > 0 else { return fresh(current.count) }
          for step in 1...count { keys.append(low + step * distance) }
        }
      }
      if let next {
        keys.append(next)
        previous = next
      }
      start = index + 1
    }
    return keys
  }

  private static func fresh(_ count: Int) -> [Int64] { (0..<count).map { Int64($0 + 1) * gap } }

  private static func longestAscending(_ keys: [Int64?]) -> [Int] {
    var tails: [Int] = []
    var previous = [Int](repeating: -1, count: keys.count)
    for (index, key) in keys.enumerated() {
      guard let key else { continue }
      var (low, high) = (0, tails.count)
      while low < high {
        let middle = (low + high) / 2
        if keys[tails[middle]] ?? .max < key { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = tails[low - 1] }
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var result: [Int] = []
    var index = tails.last ?? -1
    while index >= 0 {
      result.append(index)
      index = previous[index]
    }
    return result.reversed()
  }
}
